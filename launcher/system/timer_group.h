// Timers of one owner: all that have not run are cancelled together, at the latest with the owner.
#pragma once

#include <list>
#include <utility>

#include "launcher/system/event_loop.h"

namespace paceline::launcher {

/// Belongs to the loop's thread, and goes before the loop.
class TimerGroup {
 public:
  explicit TimerGroup(EventLoop& loop) : loop_(loop) {}
  ~TimerGroup() { cancel(); }
  TimerGroup(const TimerGroup&) = delete;
  TimerGroup& operator=(const TimerGroup&) = delete;

  /// As EventLoop::after(). The handler may destroy the group.
  void after(Duration delay, EventLoop::Handler handler) {
    const auto place = timers_.emplace(timers_.end());
    *place = loop_.after(delay, [this, place, handler = std::move(handler)] {
      timers_.erase(place);
      handler();
    });
  }
  void cancel() {
    for (const EventLoop::TimerId timer : timers_) loop_.cancel(timer);
    timers_.clear();
  }

 private:
  EventLoop& loop_;
  std::list<EventLoop::TimerId> timers_;
};

}  // namespace paceline::launcher
