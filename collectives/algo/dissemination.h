// Barrier by dissemination (Hensgen, Finkel, Manber, "Two Algorithms for Barrier Synchronization",
// International Journal of Parallel Programming 17, 1988).
//
//   n = 5:   0  1  2  3  4
//            └─►└─►└─►└─►└─► 0     round 0: tell the next rank
//            └────►└────►└── …     round 1: tell the second next
//            └──────────►└── …     round 2: tell the fourth next
//
// In round k rank r tells r + 2^k and hears from r - 2^k, all around the circle, and goes on when
// it has heard: after round k it knows that the 2^(k + 1) ranks up to itself have come. Rounds
// ceil(log2 n), as many empty messages per rank, no elements.
#pragma once

#include "collectives/plan/cost.h"
#include "collectives/plan/plan.h"

namespace paceline {

Plan plan_dissemination(const PlanRequest& request);
Cost cost_of_dissemination(const PlanRequest& request);

}  // namespace paceline
