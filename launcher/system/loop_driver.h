// Lets an EventLoop drive an object that has a descriptor and a time to wake (comm/acceptor.h).
#pragma once

#include <functional>
#include <optional>

#include "launcher/system/event_loop.h"

namespace paceline::launcher {

/// Belongs to the loop's thread.
class LoopDriver {
 public:
  /// Calls `drive` when `fd` can be read, and at the time that it returned last.
  LoopDriver(EventLoop& loop, int fd, std::function<TimePoint()> drive);
  ~LoopDriver();
  LoopDriver(const LoopDriver&) = delete;
  LoopDriver& operator=(const LoopDriver&) = delete;

  void drive();

 private:
  EventLoop& loop_;
  const int fd_;
  const std::function<TimePoint()> drive_;
  std::optional<EventLoop::TimerId> timer_;
};

}  // namespace paceline::launcher
