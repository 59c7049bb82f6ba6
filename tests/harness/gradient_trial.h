// Random steps of a gradient pipeline, of which every result is known: ready orders, unused
// parameters, micro-steps, ranks whose data end, frozen parameters, gradients that overflow. Mixed
// trials have all types in turn, all codecs, weights with several uses, loss scales that change,
// states that are loaded again, wrong calls, and ranks that abort or leave in the middle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <paceline/communicator.h>
#include <paceline/status.h>

namespace paceline::testing {

struct GradientTrial {
  std::uint64_t seed = 1;
  std::uint64_t steps = 100;
  std::size_t largest = 3000;  ///< elements of a gradient; some are a hundred times as large
  bool is_mixed = false;
  /// Of state_of_one(), for a mixed trial. Several ranks load it if their codec keeps no errors.
  std::vector<std::byte> other_state;
};

/// The state of a new pipeline of one rank, with the parameters and options of the trial.
Result<std::vector<std::byte>> state_of_one(Communicator own, const GradientTrial& trial);

/// What a rank does; `own` is used up. An error says what was wrong, and in which step.
Status run_gradient_trial(Communicator own, const GradientTrial& trial);

}  // namespace paceline::testing
