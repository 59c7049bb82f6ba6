// Runs an event loop until something holds, for tests.
#pragma once

#include <chrono>
#include <functional>

#include "comm/base/clock.h"
#include "launcher/system/event_loop.h"

namespace paceline::launcher {

/// False: it does not hold when the time is over. No timer is left over.
inline bool loop_until(EventLoop& loop, const std::function<bool()>& holds,
                       Duration patience = std::chrono::seconds(20)) {
  const Deadline deadline = Deadline::after(loop.clock(), patience);
  const std::function<void()> look = [&] {
    if (holds() || deadline.passed(loop.clock().now())) return loop.stop();
    loop.after(std::chrono::milliseconds(5), look);
  };
  loop.after(Duration::zero(), look);
  loop.run().value();
  return holds();
}

}  // namespace paceline::launcher
