#include "launcher/tools/measure/probe/check/link.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

#include "comm/base/random.h"
#include "comm/base/try.h"
#include "comm/handshake.h"

namespace paceline::probe {
namespace {

// A peer greets at once; a stranger who says nothing must not keep it waiting for long.
constexpr Duration kGreeting = std::chrono::milliseconds(500);

Hello hello_of(const LinkPurpose& purpose) {
  return {.purpose = Purpose::kCheck,
          .epoch = purpose.round,
          .from = purpose.from,
          .group = static_cast<std::uint64_t>(purpose.use)};
}

Status failed(const std::string& what) {
  return Status(Code::kUnavailable, Scope::kOperation,
                std::string(what).append(": ").append(std::strerror(errno)));
}

Status too_late(const std::string& what) { return Status(Code::kTimeout, Scope::kOperation, what); }

Result<DialerHandshake::Nonce> fresh_nonce() {
  DialerHandshake::Nonce nonce{};
  PACELINE_TRY(fill_system_random(nonce));
  return nonce;
}

// An error means that whoever is there is not the one who was meant.
Status greet(int fd, const JobKey& key, const Hello& wanted, Deadline deadline,
             const Clock& clock) {
  PACELINE_TRY_ASSIGN(const auto nonce, fresh_nonce());
  AcceptorHandshake handshake(key, nonce);
  const ByteView challenge = handshake.challenge();
  PACELINE_TRY(send_all(fd, challenge.data(), challenge.size(), deadline, clock));
  std::array<std::byte, kHelloBytes> bytes;
  PACELINE_TRY(receive_all(fd, bytes.data(), bytes.size(), deadline, clock));
  PACELINE_TRY_ASSIGN(const Hello hello, handshake.read_hello(bytes));
  if (hello != wanted)
    return Status(Code::kDenied, Scope::kPeer, "the connection is for another measurement");
  const auto welcome = handshake.welcome(Verdict::kAccepted);
  return send_all(fd, welcome.data(), welcome.size(), deadline, clock);
}

Status prove(int fd, const JobKey& key, const Hello& hello, Deadline deadline, const Clock& clock) {
  PACELINE_TRY_ASSIGN(const auto nonce, fresh_nonce());
  DialerHandshake handshake(key, hello, nonce);
  std::array<std::byte, kChallengeBytes> challenge;
  PACELINE_TRY(receive_all(fd, challenge.data(), challenge.size(), deadline, clock));
  PACELINE_TRY_ASSIGN(const Bytes answer, handshake.answer(challenge));
  PACELINE_TRY(send_all(fd, answer.data(), answer.size(), deadline, clock));
  std::array<std::byte, kWelcomeBytes> welcome;
  PACELINE_TRY(receive_all(fd, welcome.data(), welcome.size(), deadline, clock));
  return handshake.read_welcome(welcome).status();
}

}  // namespace

bool wait_ready(int fd, short events, Deadline deadline, const Clock& clock) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline.left(clock.now())).count();
    pollfd ready{.fd = fd, .events = events, .revents = 0};
    const int found = ::poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000)));
    if (found > 0) return true;
    if (deadline.passed(clock.now())) return false;
  }
}

Status send_all(int fd, const void* bytes, std::size_t size, Deadline deadline,
                const Clock& clock) {
  const auto* at = static_cast<const std::byte*>(bytes);
  while (size > 0) {
    const ssize_t sent = ::send(fd, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      at += sent;
      size -= static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN) {
      if (!wait_ready(fd, POLLOUT, deadline, clock)) return too_late("the peer does not read");
    } else if (errno != EINTR) {
      return failed("sending failed");
    }
  }
  return Status();
}

Status receive_all(int fd, void* bytes, std::size_t size, Deadline deadline, const Clock& clock) {
  auto* at = static_cast<std::byte*>(bytes);
  while (size > 0) {
    const ssize_t got = ::recv(fd, at, size, MSG_DONTWAIT);
    if (got > 0) {
      at += got;
      size -= static_cast<std::size_t>(got);
    } else if (got == 0) {
      return Status(Code::kUnavailable, Scope::kOperation, "the peer closed the connection");
    } else if (errno == EAGAIN) {
      if (!wait_ready(fd, POLLIN, deadline, clock)) return too_late("no data arrives");
    } else if (errno != EINTR) {
      return failed("receiving failed");
    }
  }
  return Status();
}

Result<LinkDoor> LinkDoor::open(const std::string& address, const Clock& clock, PortRange ports) {
  PACELINE_TRY_ASSIGN(const SocketAddress any, SocketAddress::parse(with_port(address, 0)));
  PACELINE_TRY_ASSIGN(UniqueFd fd, listen_on(any, ports));
  PACELINE_TRY_ASSIGN(const SocketAddress bound, SocketAddress::of_local_end(fd.get()));
  return LinkDoor(std::move(fd), bound.port(), clock);
}

Result<UniqueFd> LinkDoor::accept(const JobKey& key, const LinkPurpose& purpose,
                                  Deadline deadline) {
  while (wait_ready(fd_.get(), POLLIN, deadline, *clock_)) {
    PACELINE_TRY_ASSIGN(UniqueFd fd, accept_from(fd_.get()));
    if (!fd) continue;
    const Deadline soon =
        Deadline::after(*clock_, std::min(kGreeting, deadline.left(clock_->now())));
    if (greet(fd.get(), key, hello_of(purpose), soon, *clock_).ok()) return fd;
  }
  return too_late("the peer does not connect");
}

Result<UniqueFd> dial(const std::string& address, const JobKey& key, const LinkPurpose& purpose,
                      Deadline deadline, const Clock& clock) {
  PACELINE_TRY_ASSIGN(const SocketAddress there, SocketAddress::parse(address));
  PACELINE_TRY_ASSIGN(UniqueFd fd, start_connect(there));
  if (!wait_ready(fd.get(), POLLOUT, deadline, clock))
    return too_late(std::string("cannot connect to ").append(address).append(": no answer"));
  PACELINE_TRY(connect_error(fd.get(), there));
  PACELINE_TRY(prove(fd.get(), key, hello_of(purpose), deadline, clock));
  return fd;
}

}  // namespace paceline::probe
