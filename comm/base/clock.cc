#include "comm/base/clock.h"

#include <time.h>

namespace paceline {

TimePoint SystemClock::now() const {
  timespec spec{};
  ::clock_gettime(CLOCK_MONOTONIC, &spec);
  return TimePoint(std::chrono::seconds(spec.tv_sec) + std::chrono::nanoseconds(spec.tv_nsec));
}

Duration SystemWallClock::since_1970() const {
  timespec spec{};
  ::clock_gettime(CLOCK_REALTIME, &spec);
  return std::chrono::seconds(spec.tv_sec) + std::chrono::nanoseconds(spec.tv_nsec);
}

}  // namespace paceline
