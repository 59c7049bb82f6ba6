// Random steps of a gradient pipeline, of which every result is known: ready orders, unused
// parameters, micro-steps, ranks whose data end, frozen parameters, gradients that overflow.
#pragma once

#include <cstdint>

#include <paceline/communicator.h>
#include <paceline/status.h>

namespace paceline::testing {

struct GradientTrial {
  std::uint64_t seed = 1;
  std::uint64_t steps = 100;
  std::size_t largest = 3000;  ///< elements of a gradient; some are a hundred times as large
};

/// What a rank does; `own` is used up. An error says what was wrong, and in which step.
Status run_gradient_trial(Communicator own, const GradientTrial& trial);

}  // namespace paceline::testing
