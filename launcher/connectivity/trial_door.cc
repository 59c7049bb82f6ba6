#include "launcher/connectivity/trial_door.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <netinet/in.h>
#include <sys/socket.h>

#include "comm/base/ip_address.h"
#include "comm/base/random.h"
#include "comm/base/try.h"
#include "comm/bytes.h"
#include "comm/socket.h"

namespace paceline::launcher {
namespace {

constexpr std::byte kAnswerFiller{0x5A};
constexpr Duration kSweep = std::chrono::seconds(1);

// Without what IPv6 puts around an IPv4 address.
std::string address_of(const UniqueFd& fd) {
  const Result<SocketAddress> address = SocketAddress::of_remote_end(fd.get());
  const auto host = address.ok() ? IpAddress::of(address->data()) : std::nullopt;
  if (!host) return "a peer that has closed the connection";
  return with_port(host->to_string(), address->port());
}

}  // namespace

Result<std::unique_ptr<TrialDoor>> TrialDoor::open(EventLoop& loop, const JobKey& key,
                                                   const Options& options) {
  PACELINE_TRY_ASSIGN(UniqueFd listener, listen_on_all(options.ports));
  PACELINE_TRY_ASSIGN(const SocketAddress address, SocketAddress::of_local_end(listener.get()));
  return std::unique_ptr<TrialDoor>(
      new TrialDoor(loop, key, options, std::move(listener), address.port()));
}

TrialDoor::TrialDoor(EventLoop& loop, const JobKey& key, const Options& options, UniqueFd listener,
                     int port)
    : loop_(loop),
      key_(key),
      host_index_(options.host_index),
      listener_(std::move(listener)),
      port_(port),
      book_(options.log, "trials at port " + std::to_string(port)) {
  listen(true);
  sweep_ = loop_.after(kSweep, [this] { let_go_of_the_late(); });
}

TrialDoor::~TrialDoor() {
  callers_.clear();
  listen(false);
  loop_.cancel(sweep_);
  if (again_) loop_.cancel(*again_);
}

void TrialDoor::listen(bool on) {
  if (on)
    loop_.when_readable(listener_.get(), [this] { accept(); });
  else
    loop_.forget_readable(listener_.get());
}

void TrialDoor::accept() {
  if (!make_room()) {
    listen(false);
    again_ = loop_.after(kLeastTime, [this] { listen(true); });
    return;
  }
  // An error, for want of descriptors say, passes: the connection waits in the kernel's queue.
  Result<UniqueFd> fd = accept_from(listener_.get());
  if (fd.ok() && *fd) admit(*std::move(fd));
}

bool TrialDoor::make_room() {
  if (callers_.size() < kMaxCallers) return true;
  const auto oldest = std::find_if(callers_.begin(), callers_.end(), [](const Caller& caller) {
    return caller.stage == Stage::kHello;
  });
  if (oldest == callers_.end() || loop_.clock().now() < oldest->came + kLeastTime) return false;
  refuse(oldest, StrangerBook::kGaveWay);
  return true;
}

void TrialDoor::admit(UniqueFd fd) {
  AcceptorHandshake::Nonce nonce;
  if (!fill_system_random(nonce).ok()) return;  // the key would be worth nothing
  Caller& caller = callers_.emplace_back(key_, nonce);
  caller.address = address_of(fd);
  caller.came = loop_.clock().now();
  const Place place = std::prev(callers_.end());
  caller.socket.emplace(loop_, std::move(fd), [this, place] { drive(place); });
  caller.socket->queue(caller.handshake.challenge());
  drive(place);
}

void TrialDoor::drive(Place caller) {
  if (!move(*caller)) callers_.erase(caller);
}

// False once it has got all, or nothing.
bool TrialDoor::move(Caller& caller) {
  for (;;) {
    const std::size_t count = wanted_of(caller);
    const PairSocket::Progress progress = caller.socket->exchange(count);
    if (progress == PairSocket::Progress::kEnded) {
      const bool cut = caller.stage == Stage::kHello && !caller.socket->received().empty();
      if (cut) book_.refused(caller.address, StrangerBook::kHungUp);
      return false;
    }
    // What is long goes both ways at once, so it may still be on its way out when all has come in.
    if (caller.socket->received().size() < count) return true;
    if (caller.stage == Stage::kLast) return progress == PairSocket::Progress::kPending;
    if (caller.stage == Stage::kLong)
      finish(caller);
    else if (!greet(caller))
      return false;
    caller.socket->clear_received();
  }
}

std::size_t TrialDoor::wanted_of(const Caller& caller) {
  switch (caller.stage) {
    case Stage::kHello:
      return kHelloBytes;
    case Stage::kLong:
      return caller.long_bytes;
    case Stage::kLast:
      return 0;
  }
  return 0;
}

// Whoever has the key and means another host is told so: two hosts have one address.
bool TrialDoor::greet(Caller& caller) {
  const Result<Hello> hello = caller.handshake.read_hello(caller.socket->received());
  if (!hello.ok() || hello->purpose != Purpose::kTrial) {
    book_.refused(caller.address, hello.ok() ? "its proof of the key is not for a test"
                                             : std::string_view(hello.status().text()));
    return false;
  }
  const bool is_meant = std::cmp_equal(hello->to, host_index_);
  const Verdict verdict = is_meant ? Verdict::kAccepted : Verdict::kNotMeant;
  caller.socket->queue(caller.handshake.welcome(verdict));
  caller.stage = is_meant ? Stage::kLong : Stage::kLast;
  if (!is_meant) return true;
  if (hello->group > kMaxLongBytes) return false;
  caller.long_bytes = static_cast<std::size_t>(hello->group);
  if (!caller.socket->flush()) return false;
  caller.socket->queue(Bytes(caller.long_bytes, kAnswerFiller));
  return true;
}

void TrialDoor::finish(Caller& caller) {
  caller.socket->queue(std::array{kAnswerFiller});
  caller.stage = Stage::kLast;
}

void TrialDoor::refuse(Place caller, std::string_view why) {
  book_.refused(caller->address, why);
  callers_.erase(caller);
}

void TrialDoor::let_go_of_the_late() {
  const TimePoint now = loop_.clock().now();
  while (!callers_.empty() && now >= callers_.front().came + kPatience) {
    if (callers_.front().stage == Stage::kHello)
      book_.refused(callers_.front().address, StrangerBook::kTooLate);
    callers_.pop_front();
  }
  sweep_ = loop_.after(kSweep, [this] { let_go_of_the_late(); });
}

}  // namespace paceline::launcher
