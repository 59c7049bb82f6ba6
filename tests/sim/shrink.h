// From a scenario that fails to a short one that fails too.
#pragma once

#include <vector>

#include "comm/base/function_ref.h"
#include "tests/sim/scenario.h"

namespace paceline::testing {

/// Scenarios with one thing less each: calls, ranks, faults, elements, anything unusual. The
/// boldest come first. Empty when nothing is left to leave out.
std::vector<Scenario> simpler(const Scenario& scenario);

struct ShrinkOptions {
  int tries = 2000;    ///< bound on the calls of `fails`
  int schedules = 10;  ///< of each candidate: its own, then other seeds and steps of faults
};

/// Leaves things out as long as `fails` says that what remains still fails. A shorter scenario
/// takes other steps, so that the failure may need another schedule: some are tried.
Scenario shrink(const Scenario& scenario, FunctionRef<bool(const Scenario&)> fails,
                const ShrinkOptions& options);

}  // namespace paceline::testing
