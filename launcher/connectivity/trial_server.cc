#include "launcher/connectivity/trial_server.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>

#include "comm/base/try.h"
#include "comm/bytes.h"
#include "comm/socket.h"

namespace paceline::launcher {
namespace {

constexpr std::byte kAnswerFiller{0x5A};

Status denied(const char* why) { return Status(Code::kDenied, Scope::kPeer, why); }

}  // namespace

Result<std::unique_ptr<TrialServer>> TrialServer::open(EventLoop& loop, const JobKey& key,
                                                       const Options& options) {
  PACELINE_TRY_ASSIGN(UniqueFd listening, listen_on_all(options.ports));
  PACELINE_TRY_ASSIGN(const SocketAddress address, SocketAddress::of_local_end(listening.get()));
  std::unique_ptr<TrialServer> server(new TrialServer(loop, options, address.port()));
  TrialServer* const self = server.get();
  PACELINE_TRY_ASSIGN(server->listener_,
                      Listener::create(std::move(listening), &key,
                                       {.name = "trials at port " + std::to_string(address.port()),
                                        .log = options.log,
                                        .max_unauthenticated = kMaxUnauthenticated},
                                       [self](AuthenticatedConnection& connection) {
                                         return self->settle(connection);
                                       }));
  server->driver_.emplace(loop, server->listener_->fd(), [self] { return self->drive(); });
  return server;
}

TimePoint TrialServer::drive() {
  const TimePoint now = loop_.clock().now();
  while (!trials_.empty() && now >= trials_.front().began + kMaxTime) trials_.pop_front();
  listener_->limit_to(trials_.size() < kMaxTrials ? kMaxUnauthenticated : 0);
  listener_->drive(now);
  const TimePoint late = trials_.empty() ? TimePoint::max() : trials_.front().began + kMaxTime;
  return std::min(late, listener_->wake_at());
}

// A peer that has the key and means another host is told so: two hosts have one address.
Status TrialServer::settle(AuthenticatedConnection& connection) {
  const Hello& hello = connection.hello();
  if (hello.purpose != Purpose::kTrial) return denied("its proof of the key is not for a test");
  if (hello.group > kMaxLongBytes) return denied("it asks for a test of too many bytes");
  if (!std::cmp_equal(hello.to, host_index_)) {
    connection.decline(Verdict::kNotMeant);
    return {};
  }
  Result<UniqueFd> fd = connection.welcome();
  if (fd.ok()) begin(*std::move(fd), static_cast<std::size_t>(hello.group));
  return {};
}

void TrialServer::begin(UniqueFd fd, std::size_t long_bytes) {
  Trial& trial = trials_.emplace_back();
  const Place place = std::prev(trials_.end());
  trial.began = loop_.clock().now();
  trial.long_bytes = long_bytes;
  trial.socket.emplace(loop_, std::move(fd), [this, place] { drive(place); });
  trial.socket->queue(Bytes(long_bytes, kAnswerFiller));
}

void TrialServer::drive(Place trial) {
  if (move(*trial)) return;
  const bool was_full = trials_.size() >= kMaxTrials;
  trials_.erase(trial);
  if (was_full) driver_->drive();
}

// False once the trial has ended, well or not.
bool TrialServer::move(Trial& trial) {
  for (;;) {
    const std::size_t count = trial.stage == Stage::kLong ? trial.long_bytes : 0;
    const PairSocket::Progress progress = trial.socket->exchange(count);
    if (progress == PairSocket::Progress::kEnded) return false;
    // Filler goes in both directions at once: it may still be on its way out when all has come in.
    if (trial.socket->received().size() < count) return true;
    if (trial.stage == Stage::kLast) return progress == PairSocket::Progress::kPending;
    trial.socket->queue(std::array{kAnswerFiller});
    trial.stage = Stage::kLast;
    trial.socket->clear_received();
  }
}

}  // namespace paceline::launcher
