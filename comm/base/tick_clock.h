// The machine's clock, read through the processor's tick counter.
//
// A look at the system's clock costs 25 to 35 ns, as much as a cache line's way between two cores;
// a look at the counter costs about a third of that. So each thread looks at the clock now and
// then, and counts ticks in between.
#pragma once

#include <cstdint>

#include "comm/base/clock.h"

namespace paceline {

/// CLOCK_MONOTONIC, less than a microsecond late, never ahead of it, and never going back within a
/// thread. The same as SystemClock where the kernel itself does not trust the counter.
class TickClock final : public Clock {
 public:
  TimePoint now() const override;
};

/// What is known of the time from looks at the clock: a value, told the ticks.
class TickCount {
 public:
  /// The clock's nanoseconds, and the ticks before and after they were read.
  struct Look {
    std::uint64_t before = 0;
    std::int64_t ns = 0;
    std::uint64_t after = 0;
  };

  /// Can ticks tell the time, or must the clock be asked?
  bool covers(std::uint64_t ticks) const { return ticks - ticks_ < good_for_; }
  /// The time in nanoseconds, of ticks that it covers.
  std::int64_t at(std::uint64_t ticks) const {
    return ns_ + static_cast<std::int64_t>((ticks - ticks_) * scale_ >> 32);
  }
  /// A look in whose middle the thread was interrupted is left aside.
  void learn(const Look& look);

 private:
  std::uint64_t ticks_ = 0;
  std::int64_t ns_ = 0;  // 0: no look yet
  std::uint64_t good_for_ = 0;
  std::uint64_t scale_ = 0;  // nanoseconds per tick, in 2^-32
};

}  // namespace paceline
