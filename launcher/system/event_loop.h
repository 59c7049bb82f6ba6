// The loop that each of the launcher's processes is: it waits until a descriptor is ready or a
// timer is due, and calls what is registered for it.
//
// It is poll(2) rather than Boost.Asio, because Asio makes every descriptor it waits for
// non-blocking, and the head's standard output shares that flag with the user's shell; poll takes
// regular files, too.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <poll.h>

#include <paceline/status.h>

#include "comm/base/clock.h"

namespace paceline::launcher {

/// One thread. A handler may register, forget, cancel and stop as it likes; it must not destroy
/// the loop.
class EventLoop {
 public:
  using Handler = std::function<void()>;
  enum class TimerId : std::uint64_t {};

  /// Instead of a wait for the next timer while nothing is ready: a test lets the time of its clock
  /// pass.
  using Idle = std::function<void(TimePoint next_timer)>;

  explicit EventLoop(const Clock& clock, Idle idle = {}) : clock_(clock), idle_(std::move(idle)) {}
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  /// Calls `handler` whenever `fd` can be read or has hung up, until it is forgotten, which must
  /// happen before `fd` is closed. A second registration replaces the first.
  void when_readable(int fd, Handler handler);
  void when_writable(int fd, Handler handler);
  void forget_readable(int fd) { forget({fd, POLLIN}); }
  void forget_writable(int fd) { forget({fd, POLLOUT}); }

  /// Calls `handler` once.
  TimerId after(Duration delay, Handler handler) {
    return at(Deadline::after(clock_, delay).moment(), std::move(handler));
  }
  TimerId at(TimePoint moment, Handler handler);
  void cancel(TimerId timer);

  /// Until stop(); an error only when the kernel refuses to wait.
  Status run();
  void stop() { running_ = false; }

  const Clock& clock() const { return clock_; }

 private:
  using Interest = std::pair<int, short>;  // descriptor, POLLIN or POLLOUT
  using Watched = std::pair<Interest, std::shared_ptr<Handler>>;

  void forget(Interest interest);
  void call_due_timers();
  Status wait();
  void call_ready();

  const Clock& clock_;
  const Idle idle_;
  bool running_ = false;
  bool changed_ = true;
  std::map<Interest, std::shared_ptr<Handler>> watched_;  // owners: this, polled_, a running call
  std::map<std::pair<TimePoint, TimerId>, Handler> timers_;
  std::uint64_t next_timer_ = 0;
  std::vector<pollfd> poll_set_;
  std::vector<Watched> polled_;
};

}  // namespace paceline::launcher
