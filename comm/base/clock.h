// Time, injected: nothing but SystemClock (and TickClock, on top of it) reads the machine's clock,
// nothing but the engine sleeps.
#pragma once

#include <chrono>

namespace paceline {

using Duration = std::chrono::nanoseconds;

/// A moment of some Clock. Moments of different clocks do not compare meaningfully.
struct MonotonicTime {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<MonotonicTime>;
  static constexpr bool is_steady = true;
};
using TimePoint = MonotonicTime::time_point;

/// Any thread may call now().
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const = 0;
};

/// CLOCK_MONOTONIC: comparable between the processes of one host.
class SystemClock final : public Clock {
 public:
  TimePoint now() const override;
};

/// The time of day, as people set it. It jumps: to be told and compared between hosts, never to be
/// waited for.
class WallClock {
 public:
  virtual ~WallClock() = default;
  virtual Duration since_1970() const = 0;
};

/// CLOCK_REALTIME.
class SystemWallClock final : public WallClock {
 public:
  Duration since_1970() const override;
};

/// The moment until which a wait may last.
class Deadline {
 public:
  static Deadline at(TimePoint moment) { return Deadline(moment); }
  static Deadline after(const Clock& clock, Duration timeout) {
    return after(clock.now(), timeout);
  }
  static Deadline after(TimePoint now, Duration timeout) {
    return Deadline(timeout > TimePoint::max() - now ? TimePoint::max() : now + timeout);
  }

  TimePoint moment() const { return moment_; }
  bool passed(TimePoint now) const { return now >= moment_; }
  Duration left(TimePoint now) const { return passed(now) ? Duration::zero() : moment_ - now; }

 private:
  explicit Deadline(TimePoint moment) : moment_(moment) {}
  TimePoint moment_;
};

}  // namespace paceline
