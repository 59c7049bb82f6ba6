#include "launcher/connectivity/trial.h"

#include <cerrno>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

#include "comm/base/random.h"
#include "comm/bytes.h"

namespace paceline::launcher {
namespace {

constexpr std::byte kFiller{0xA5};

DialerHandshake::Nonce fresh_nonce(Status& status) {
  DialerHandshake::Nonce nonce{};
  status = fill_system_random(nonce);
  return nonce;
}

messages::TrialEnd end_of(int error) {
  switch (error) {
    case ECONNREFUSED:
    case ECONNRESET:
      return messages::REFUSED;
    case ETIMEDOUT:
      return messages::NO_ANSWER;
    default:
      return messages::NO_WAY;
  }
}

}  // namespace

TrialDial::TrialDial(EventLoop& loop, const JobKey& key, const Options& options, Ended ended)
    : loop_(loop),
      long_bytes_(options.long_bytes),
      ended_(std::move(ended)),
      handshake_(key,
                 {.purpose = Purpose::kTrial,
                  .from = static_cast<std::int32_t>(options.from),
                  .to = static_cast<std::int32_t>(options.to),
                  .group = options.long_bytes},
                 fresh_nonce(broken_)) {}

void TrialDial::start(const SocketAddress& address) {
  Result<UniqueFd> fd = start_connect(address);
  if (!fd.ok() || !broken_.ok()) return end(messages::NO_WAY);
  socket_.emplace(loop_, *std::move(fd), [this] { drive(); });
}

void TrialDial::give_up() { end(overdue()); }

void TrialDial::drive() {
  if (const Outcome outcome = move()) end(*outcome);
}

TrialDial::Outcome TrialDial::move() {
  if (stage_ == Stage::kConnecting) {
    if (const Outcome outcome = connect()) return outcome;
    if (stage_ == Stage::kConnecting) return std::nullopt;
  }
  for (;;) {
    const std::size_t count = stage_ == Stage::kChallenge ? kChallengeBytes
                              : stage_ == Stage::kWelcome ? kWelcomeBytes
                                                          : long_bytes_ + std::size_t{1};
    if (socket_->exchange(count) == PairSocket::Progress::kEnded)
      return stage_ == Stage::kLong ? messages::SILENT : messages::OTHER_HOST;
    if (socket_->received().size() < count) return std::nullopt;
    if (stage_ == Stage::kLong) return messages::REACHED;
    const Outcome outcome = stage_ == Stage::kChallenge ? answer() : read_welcome();
    if (outcome) return outcome;
    socket_->clear_received();
  }
}

TrialDial::Outcome TrialDial::connect() {
  pollfd decided{.fd = socket_->fd(), .events = POLLOUT, .revents = 0};
  if (::poll(&decided, 1, 0) < 1) return std::nullopt;
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(socket_->fd(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) return end_of(error);
  stage_ = Stage::kChallenge;
  return std::nullopt;
}

TrialDial::Outcome TrialDial::answer() {
  const Result<Bytes> hello = handshake_.answer(socket_->received());
  if (!hello.ok()) return messages::OTHER_HOST;
  socket_->queue(*hello);
  if (!socket_->flush()) return messages::OTHER_HOST;
  socket_->queue(Bytes(long_bytes_, kFiller));
  stage_ = Stage::kWelcome;
  return std::nullopt;
}

TrialDial::Outcome TrialDial::read_welcome() {
  const Result<Verdict> verdict = handshake_.read_welcome(socket_->received());
  if (!verdict.ok() || *verdict != Verdict::kAccepted) return messages::OTHER_HOST;
  stage_ = Stage::kLong;
  return std::nullopt;
}

messages::TrialEnd TrialDial::overdue() const {
  if (stage_ == Stage::kConnecting) return messages::NO_ANSWER;
  if (stage_ != Stage::kLong) return messages::SILENT;
  const bool there = !socket_->has_unacknowledged();
  const bool back = socket_->received().size() >= long_bytes_;
  if (there == back) return there ? messages::SILENT : messages::LONG_LOST;
  return there ? messages::LONG_LOST_BACK : messages::LONG_LOST_THERE;
}

void TrialDial::end(messages::TrialEnd how) {
  if (!ended_) return;
  const Ended ended = std::exchange(ended_, nullptr);
  ended(how);
}

}  // namespace paceline::launcher
