#include "comm/transport/tcp_greeting.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

#include "comm/base/random.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

Status hang_up() {
  return Status(Code::kPeerLost, Scope::kPeer, "the connection was closed during the handshake");
}

bool would_block(ssize_t result) { return result < 0 && errno == EAGAIN; }

bool was_interrupted(ssize_t result) { return result < 0 && errno == EINTR; }

bool is_decided(int fd) {
  pollfd polled{.fd = fd, .events = POLLOUT};
  return ::poll(&polled, 1, 0) > 0;
}

}  // namespace

GreetingSocket::GreetingSocket(PollEngine& engine, UniqueFd fd)
    : engine_(engine), fd_(std::move(fd)), watched_(engine.watch(fd_.get(), *this)) {}

GreetingSocket::~GreetingSocket() {
  if (fd_) engine_.forget(fd_.get(), *this);
}

UniqueFd GreetingSocket::release() {
  engine_.forget(fd_.get(), *this);
  return std::move(fd_);
}

Result<bool> GreetingSocket::exchange(std::size_t count) {
  while (!outgoing_.empty()) {
    const ssize_t sent = ::send(fd_.get(), outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL);
    if (was_interrupted(sent)) continue;
    if (would_block(sent)) break;
    if (sent <= 0) return hang_up();
    outgoing_.erase(outgoing_.begin(), outgoing_.begin() + sent);
  }
  std::byte buffer[std::max(kChallengeBytes, kWelcomeBytes)];
  while (incoming_.size() < count) {
    const ssize_t got = ::recv(fd_.get(), buffer, count - incoming_.size(), 0);
    if (was_interrupted(got)) continue;
    if (would_block(got)) return false;
    if (got <= 0) return hang_up();
    incoming_.insert(incoming_.end(), buffer, buffer + got);
  }
  return outgoing_.empty();
}

TcpDial::TcpDial(PollEngine& engine, const JobKey& key, const Hello& hello, std::string address)
    : address_(std::move(address)) {
  DialerHandshake::Nonce nonce;
  error_ = fill_system_random(nonce);
  handshake_.emplace(key, hello, nonce);
  if (error_.ok()) error_ = start(engine);
}

Status TcpDial::start(PollEngine& engine) {
  PACELINE_TRY_ASSIGN(parsed_, SocketAddress::parse(address_));
  PACELINE_TRY_ASSIGN(UniqueFd fd, start_connect(*parsed_));
  socket_.emplace(engine, std::move(fd));
  return socket_->watched();
}

GreetingState TcpDial::drive() {
  if (!error_.ok()) return GreetingState::kFailed;
  if (!socket_->take_report()) return GreetingState::kPending;
  if (stage_ == Stage::kConnecting) {
    if (!is_decided(socket_->fd())) return GreetingState::kPending;
    if (Status status = connect_error(socket_->fd(), *parsed_); !status.ok()) {
      return fail(status);
    }
    stage_ = Stage::kChallenge;
  }
  GreetingState state = GreetingState::kPending;
  if (stage_ == Stage::kChallenge) state = step();
  if (stage_ == Stage::kWelcome && state == GreetingState::kPending) state = step();
  return state;
}

GreetingState TcpDial::step() {
  const bool challenge = stage_ == Stage::kChallenge;
  Result<bool> whole = socket_->exchange(challenge ? kChallengeBytes : kWelcomeBytes);
  if (!whole.ok()) {
    hung_up_ = true;
    return fail(whole.status());
  }
  if (!*whole) return GreetingState::kPending;
  return challenge ? answer() : finish();
}

GreetingState TcpDial::answer() {
  Result<Bytes> hello = handshake_->answer(socket_->received());
  if (!hello.ok()) return fail(hello.status());
  socket_->queue(*hello);
  socket_->clear_received();
  stage_ = Stage::kWelcome;
  return GreetingState::kPending;
}

GreetingState TcpDial::finish() {
  Result<Verdict> verdict = handshake_->read_welcome(socket_->received());
  if (!verdict.ok()) return fail(verdict.status());
  if (*verdict == Verdict::kAccepted) return GreetingState::kReady;
  if (*verdict == Verdict::kOtherIntegrity)
    return fail(Status(Code::kMismatch, Scope::kPeer,
                       "PACELINE_INTEGRITY is on at one of the two ranks only; set it to the same "
                       "value on all ranks"));
  if (*verdict == Verdict::kHasLeft)
    return fail(Status(Code::kPeerLost, Scope::kPeer, "the rank has left the group"));
  return fail(
      Status(Code::kDenied, Scope::kPeer,
             "the peer at this address is another rank, or belongs to another group or epoch"));
}

GreetingState TcpDial::fail(const Status& error) {
  error_ = error.with_context(address_);
  return GreetingState::kFailed;
}

}  // namespace paceline
