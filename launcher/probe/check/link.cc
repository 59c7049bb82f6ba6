#include "launcher/probe/check/link.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

#include "comm/base/try.h"

namespace paceline::probe {
namespace {

// A peer greets at once; a stranger who says nothing must not keep it waiting for long.
constexpr Duration kGreeting = std::chrono::milliseconds(500);

struct Greeting {
  Secret secret{};
  LinkPurpose purpose{};
};
static_assert(sizeof(Greeting) == sizeof(Secret) + 3 * sizeof(std::uint32_t));

Status failed(const std::string& what) {
  return Status(Code::kUnavailable, Scope::kOperation,
                std::string(what).append(": ").append(std::strerror(errno)));
}

Status too_late(const std::string& what) { return Status(Code::kTimeout, Scope::kOperation, what); }

// Takes as long whatever is wrong.
bool same(const Secret& left, const Secret& right) {
  std::byte difference{};
  for (std::size_t i = 0; i < left.size(); ++i) difference |= left[i] ^ right[i];
  return difference == std::byte{};
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
      if (!wait_ready(fd, POLLOUT, deadline, clock)) return too_late("the other end does not read");
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
      return Status(Code::kUnavailable, Scope::kOperation, "the other end has closed");
    } else if (errno == EAGAIN) {
      if (!wait_ready(fd, POLLIN, deadline, clock)) return too_late("nothing comes");
    } else if (errno != EINTR) {
      return failed("receiving failed");
    }
  }
  return Status();
}

Result<LinkDoor> LinkDoor::open(const std::string& address, const Clock& clock) {
  PACELINE_TRY_ASSIGN(const SocketAddress any, SocketAddress::parse(with_port(address, 0)));
  PACELINE_TRY_ASSIGN(UniqueFd fd, listen_on(any));
  PACELINE_TRY_ASSIGN(const SocketAddress bound, SocketAddress::of_local_end(fd.get()));
  return LinkDoor(std::move(fd), bound.port(), clock);
}

Result<UniqueFd> LinkDoor::accept(const Secret& secret, const LinkPurpose& purpose,
                                  Deadline deadline) {
  while (wait_ready(fd_.get(), POLLIN, deadline, *clock_)) {
    PACELINE_TRY_ASSIGN(UniqueFd fd, accept_from(fd_.get()));
    if (!fd) continue;
    const Deadline soon =
        Deadline::after(*clock_, std::min(kGreeting, deadline.left(clock_->now())));
    Greeting greeting;
    if (!receive_all(fd.get(), &greeting, sizeof greeting, soon, *clock_).ok()) continue;
    if (same(greeting.secret, secret) && greeting.purpose == purpose) return fd;
  }
  return too_late("its connection does not come");
}

Result<UniqueFd> dial(const std::string& address, const Secret& secret, const LinkPurpose& purpose,
                      Deadline deadline, const Clock& clock) {
  PACELINE_TRY_ASSIGN(const SocketAddress there, SocketAddress::parse(address));
  PACELINE_TRY_ASSIGN(UniqueFd fd, start_connect(there));
  if (!wait_ready(fd.get(), POLLOUT, deadline, clock))
    return too_late(std::string("cannot connect to ").append(address).append(": no answer"));
  PACELINE_TRY(connect_error(fd.get(), there));
  const Greeting greeting{.secret = secret, .purpose = purpose};
  PACELINE_TRY(send_all(fd.get(), &greeting, sizeof greeting, deadline, clock));
  return fd;
}

std::string host_part(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  const std::string host = address.substr(0, colon);
  return host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host;
}

std::string with_port(const std::string& host, int port) {
  const bool is_long = host.find(':') != host.npos;
  return std::string(is_long ? "[" : "")
      .append(host)
      .append(is_long ? "]:" : ":")
      .append(std::to_string(port));
}

}  // namespace paceline::probe
