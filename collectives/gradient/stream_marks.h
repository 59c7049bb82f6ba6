// Points in the order of streams of a device, and how far the device has come.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include <paceline/status.h>

#include "collectives/device_lane.h"
#include "comm/base/clock.h"
#include "comm/base/try.h"
#include "comm/device/device.h"

namespace paceline {

/// Marks are numbers from 1 on. A mark counts as reached when those before it are reached, too. One
/// thread at a time.
class StreamMarks {
 public:
  /// Borrowed.
  StreamMarks(Device& device, EventPool& events) : device_(device), events_(events) {}

  /// After all that was enqueued on the stream.
  Result<std::uint64_t> add(DeviceStream stream, TimePoint deadline) {
    PACELINE_TRY_ASSIGN(const DeviceEvent event, events_.take());
    ahead_.push_back({.event = event, .deadline = deadline});
    PACELINE_TRY(device_.record(event, stream));
    return reached_ + ahead_.size();
  }
  bool is_reached(std::uint64_t mark) const { return mark <= reached_; }
  /// Asks the device. True: it has reached more of them.
  Result<bool> look() {
    bool moved = false;
    while (!ahead_.empty()) {
      PACELINE_TRY_ASSIGN(const bool has_passed, device_.has_passed(ahead_.front().event));
      if (!has_passed) break;
      events_.give_back(ahead_.front().event);
      ahead_.pop_front();
      ++reached_;
      moved = true;
    }
    return moved;
  }

  /// All are reached.
  bool is_still() const { return ahead_.empty(); }
  bool is_late(TimePoint now) const {
    return std::ranges::any_of(ahead_, [now](const Mark& one) { return now >= one.deadline; });
  }
  /// The device does not answer: none is ahead any more, or will be reached.
  void abandon() { ahead_.clear(); }

 private:
  struct Mark {
    DeviceEvent event = nullptr;
    TimePoint deadline{};
  };

  Device& device_;
  EventPool& events_;
  std::deque<Mark> ahead_;
  std::uint64_t reached_ = 0;
};

}  // namespace paceline
