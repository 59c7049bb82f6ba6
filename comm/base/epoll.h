// epoll(7) with timeouts in nanoseconds, or, where the kernel has no epoll_pwait2(2), in whole
// milliseconds: before Linux 5.11, under some container profiles, and under valgrind.
#pragma once

#include <atomic>
#include <span>
#include <utility>

#include <sys/epoll.h>

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "comm/base/unique_fd.h"

namespace paceline {

class Epoll {
 public:
  /// Finds out which system call there is. Errors name the call.
  static Result<Epoll> create();

  int fd() const { return fd_.get(); }
  /// Sleeps until there are events, which it returns, or `timeout` has passed: never shorter, up to
  /// a millisecond longer without epoll_pwait2. None after a signal.
  std::span<const epoll_event> wait(std::span<epoll_event> room, Duration timeout) const;

  Epoll(Epoll&& other) noexcept
      : fd_(std::move(other.fd_)), has_pwait2_(other.has_pwait2_.load()) {}

 private:
  Epoll(UniqueFd fd, bool has_pwait2) : fd_(std::move(fd)), has_pwait2_(has_pwait2) {}

  UniqueFd fd_;
  mutable std::atomic<bool> has_pwait2_;  // a filter that is installed later may take it away
};

}  // namespace paceline
