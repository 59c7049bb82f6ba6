#include "comm/base/epoll.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <poll.h>

#include "comm/base/system_error.h"

namespace paceline {
namespace {

// Sleep after an error of epoll, such as a closed descriptor: a program may close descriptors that
// it does not know. A waiting thread then still reaches its deadline, without a busy loop.
constexpr int kNapMs = 10;

int pwait2(int fd, std::span<epoll_event> room, Duration timeout) {
  const timespec spec{.tv_sec = timeout / std::chrono::seconds(1),
                      .tv_nsec = (timeout % std::chrono::seconds(1)).count()};
  return ::epoll_pwait2(fd, room.data(), static_cast<int>(room.size()), &spec, nullptr);
}

// Rounded up. If it were rounded down, the rest of a wait would be spent on polling.
int wait_ms(int fd, std::span<epoll_event> room, Duration timeout) {
  constexpr std::int64_t kMostMs = 60'000;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
  return ::epoll_wait(fd, room.data(), static_cast<int>(room.size()),
                      static_cast<int>(std::clamp<std::int64_t>(left, 0, kMostMs)));
}

}  // namespace

// Any error counts, not only ENOSYS: older container profiles answer EPERM to system calls that
// they do not know.
Result<Epoll> Epoll::create() {
  UniqueFd fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!fd) {
    return Status(Code::kExhausted, Scope::kProcess,
                  std::string("epoll_create1: ") + error_text(errno));
  }
  epoll_event none{};
  const bool has_pwait2 = pwait2(fd.get(), {&none, 1}, {}) == 0;
  return Epoll(std::move(fd), has_pwait2);
}

std::span<const epoll_event> Epoll::wait(std::span<epoll_event> room, Duration timeout) const {
  const bool has_pwait2 = has_pwait2_.load(std::memory_order_relaxed);
  int count = has_pwait2 ? pwait2(fd_.get(), room, timeout) : wait_ms(fd_.get(), room, timeout);
  if (count < 0 && has_pwait2 && errno != EINTR && errno != EBADF) {
    has_pwait2_.store(false, std::memory_order_relaxed);
    count = wait_ms(fd_.get(), room, timeout);
  }
  if (count >= 0) return room.first(static_cast<std::size_t>(count));
  if (errno != EINTR && timeout > Duration::zero()) ::poll(nullptr, 0, kNapMs);
  return {};
}

}  // namespace paceline
