// epoll(7) with timeouts in nanoseconds. Timeouts are whole milliseconds where epoll_pwait2(2) is
// missing: before Linux 5.11, under some container profiles, and under valgrind.
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
  /// Tests whether epoll_pwait2(2) works. Errors name the failed system call.
  static Result<Epoll> create();

  int fd() const { return fd_.get(); }
  /// Sleeps until there are events or `timeout` has passed, and returns the events. Never shorter;
  /// up to a millisecond longer without epoll_pwait2. Returns no events after a signal.
  std::span<const epoll_event> wait(std::span<epoll_event> room, Duration timeout) const;

  Epoll(Epoll&& other) noexcept
      : fd_(std::move(other.fd_)), has_pwait2_(other.has_pwait2_.load()) {}

 private:
  Epoll(UniqueFd fd, bool has_pwait2) : fd_(std::move(fd)), has_pwait2_(has_pwait2) {}

  UniqueFd fd_;
  mutable std::atomic<bool> has_pwait2_;  // a seccomp filter that is installed later may forbid it
};

}  // namespace paceline
