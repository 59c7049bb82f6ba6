// What an operation costs, in quantities that a path model turns into time.
#pragma once

#include <cstddef>
#include <span>

#include <paceline/status.h>

#include "collectives/plan/plan.h"

namespace paceline {

/// The maximum over ranks of each quantity; counts are elements.
struct Cost {
  std::size_t rounds = 0;    ///< messages in the longest chain in which each waits for the last
  std::size_t messages = 0;  ///< sent by one rank
  std::size_t count_sent = 0;
  std::size_t count_reduced = 0;  ///< once for each operand but the first

  bool operator==(const Cost&) const = default;
};

/// Counts them in a set of plans that check() accepts, indexed by rank. A message leaves when its
/// send begins and adds one to the chain where it is received. A recv that waits until its target
/// is free, and a message that waits for an earlier one on the same path, add none: that is what
/// the bytes cost. Errors are those of match() and rendezvous_order().
Result<Cost> measure(std::span<const Plan> plans);

}  // namespace paceline
