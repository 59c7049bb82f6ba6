// How long the tests of this folder wait for what must happen, and for what must not.
#pragma once

#include <thread>

#include <sched.h>

#include "comm/base/clock.h"
#include "comm/base/function_ref.h"

namespace paceline::testing {

/// For what happens at once, unless something is broken or the machine is very busy.
inline Deadline patient() { return Deadline::after(SystemClock(), std::chrono::seconds(60)); }
/// For what should not happen: long enough to find it out now and then, short enough to pass.
inline Deadline brief() { return Deadline::after(SystemClock(), std::chrono::milliseconds(50)); }
/// For what should not happen, where others must have answered before that is found out.
inline Deadline ample() { return Deadline::after(SystemClock(), std::chrono::seconds(2)); }

/// Whoever waits for it waits until the deadline.
inline constexpr auto kNever = [] { return false; };

/// Looks until `condition` holds; for conditions of which no engine knows.
inline bool comes_true(FunctionRef<bool()> condition) {
  const SystemClock clock;
  for (const Deadline deadline = patient(); !deadline.passed(clock.now()); ::sched_yield()) {
    if (condition()) return true;
  }
  return condition();
}

/// How long two ranks take that are threads: 0 on this one, and `other`.
template <class Rank>
Duration time_of_two(const Rank& rank, int other) {
  const SystemClock clock;
  const TimePoint begin = clock.now();
  std::thread beside(rank, other);
  rank(0);
  beside.join();
  return clock.now() - begin;
}

}  // namespace paceline::testing
