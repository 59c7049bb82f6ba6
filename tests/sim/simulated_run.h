// Runs a scenario over the simulated network.
#pragma once

#include "comm/simulation.h"
#include "tests/sim/outcome.h"
#include "tests/sim/scenario.h"

namespace paceline::testing {

/// The same scenario has the same outcome every time. `threads` is borrowed for the run.
Outcome run_simulated(const Scenario& scenario, RankThreads& threads);

}  // namespace paceline::testing
