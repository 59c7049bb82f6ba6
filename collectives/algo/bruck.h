// All-gather in about log2 n rounds: the concatenation of Bruck, Ho, Kipnis, Upfal, Weathersby,
// "Efficient algorithms for all-to-all communications in multiport message-passing systems", IEEE
// TPDS 8, 1997.
//
//   n = 5:   blocks of rank r    r | r+1 | r+2 r+3 | r+4        all around the circle
//            come in round       - |  0  |    1    |  2
//
// In round k a rank has the blocks of the 2^k ranks from itself on, sends them to the rank 2^k
// before it and gets as many from the one 2^k behind it; in the last round only those that are
// missing. Each rank sends count (n - 1) elements (count: of a block), the least that is possible,
// in as many messages as there are rounds, and one more in each in which the blocks wrap around the
// end of the array: every block is received where it belongs, so nothing is moved afterwards.
//
// All-reduce of short arrays on top of it: everybody gathers all inputs and reduces them in one
// step, in the order of the ranks, so that no partial result is ever rounded. Rounds as above; a
// rank sends and reduces count (n - 1) elements. Scratch is n × count elements: all inputs, one's
// own among them, so that it leaves with others in one message.
#pragma once

#include "collectives/plan/cost.h"
#include "collectives/plan/plan.h"

namespace paceline {

Plan plan_bruck(const PlanRequest& request);
Cost cost_of_bruck(const PlanRequest& request);
Plan plan_gather_reduce(const PlanRequest& request);
Cost cost_of_gather_reduce(const PlanRequest& request);

}  // namespace paceline
