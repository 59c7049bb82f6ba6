// How long the tests of this folder wait for what must happen, and for what must not.
#pragma once

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

}  // namespace paceline::testing
