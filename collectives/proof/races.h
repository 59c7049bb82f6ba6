// Proof that no two steps of a plan can touch the same elements in an order that is left to chance.
#pragma once

#include <paceline/status.h>

#include "collectives/plan/plan.h"

namespace paceline {

/// Any two steps that touch a common element, one of them writing, must be ordered by a chain of
/// dependencies. Input and output count as one memory. Presumes sound structure (check.h).
///
/// It suffices to ask of each step whether it follows the last writer of what it reads and, of what
/// it writes, the readers since the last writer, or that writer where there are none: by induction
/// those follow every earlier conflicting step. So the number of questions grows with the steps and
/// the ranges they touch, not with their square. Each is a search backwards from the later step
/// that stops at the earlier one's number: a step or two for the builder's plans, whose conflicts
/// are direct dependencies or next to it, all steps in between at worst.
Status check_races(const Plan& plan);

}  // namespace paceline
