// Which message is which, and an order in which all ranks' steps can end: what every statement
// about a set of plans starts from. Plans are indexed by rank, their structure is sound (bounds,
// peers, dependencies: see check.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <paceline/status.h>

#include "collectives/plan/plan.h"

namespace paceline {

/// partners[rank][step]: the step at the peer that ends the same message; kNoStep for local steps.
inline constexpr StepId kNoStep = ~StepId{0};
using Partners = std::vector<std::vector<StepId>>;

/// Pairs the k-th send from one rank to another with the k-th recv there, in the order of steps.
/// The error names the message that nobody takes or sends, or whose counts differ.
Result<Partners> match(std::span<const Plan> plans);

struct StepRef {
  int rank = 0;
  StepId step = 0;
};

/// An order in which the steps of all ranks end under the hardest rules: a message ends when its
/// send and its recv have both begun; a step begins when its dependencies have ended, and a
/// message also waits for the end of the earlier one of its direction with its peer. A recv
/// follows its send immediately. The error names steps that wait for each other: a step that can
/// begin never loses that, so if one greedy run ends, all do, and where sends end sooner or
/// messages overlap, steps only begin sooner.
Result<std::vector<StepRef>> rendezvous_order(std::span<const Plan> plans,
                                              const Partners& partners);

}  // namespace paceline
