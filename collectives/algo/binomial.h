// Broadcast down a binomial tree, and reduce up (ranks count from the root; bits of that number).
//
//   n = 8:  000 ──► 100 ──► 110 ──► 111      A rank's parent is its number without the lowest bit
//            │       └────► 101              that is set; its children have one more bit, below
//            ├────► 010 ──► 011              that one. The child with the largest subtree comes
//            └────► 001                      first.
//
// The longest way down is floor(log2 n) messages; the root sends ceil(log2 n) × count elements,
// which is what bounds the time of long arrays. The tree is the one of the broadcast of Thakur,
// Rabenseifner, Gropp, IJHPCA 19, 2005, section 3.1.
//
// Arrays travel in segments: a rank passes a segment on while the next one arrives. No scratch.
// The root sends from its input and copies a segment to its output when that has left.
#pragma once

#include "collectives/plan/cost.h"
#include "collectives/plan/plan.h"

namespace paceline {

Plan plan_binomial(const PlanRequest& request);
Cost cost_of_binomial(const PlanRequest& request);

// Reduce up the same tree. A rank reduces what its children send with its own input in one step,
// the lower numbers on the left, and sends the partial result to its parent. Rounds as for the
// broadcast; a rank sends count elements and reduces up to ceil(log2 n) × count, which the root
// does. Pieces of segments follow each other up; scratch is PieceSlots, from all children.
Plan plan_binomial_reduce(const PlanRequest& request);
Cost cost_of_binomial_reduce(const PlanRequest& request);

}  // namespace paceline
