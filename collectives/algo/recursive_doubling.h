// All-reduce by recursive doubling: in each round every rank exchanges its partial result with the
// rank whose number differs in one bit (Thakur, Rabenseifner, Gropp, "Optimization of Collective
// Communication Operations in MPICH", IJHPCA 19, 2005, section 4.1).
//
//   n = 6, p = 4:    0 ─► 1     2 ─► 3     4     5     fold in: the even ones of the first
//                         │          │     │     │              2(n - p) ranks leave
//                         1 ◄──────► 3     4 ◄─► 5     distance 1
//                         1 ◄────────────► 4           distance 2
//                               and     3 ◄────► 5
//                    0 ◄─ 1     2 ◄─ 3                 fold out
//
// p is the greatest power of two within n. Rounds log2 p, and 1 or 2 more if n is no power
// of two (2 where folding in and out meet on one way); a rank sends and reduces at most count
// elements for each of the log2 p exchanges, and once more if n is no power of two. Best for short
// arrays: fewest rounds.
//
// Arrays travel in segments, each of which goes through the rounds at its own pace. The first
// reduce reads the input and writes the output, later ones the output alone: no prior copy.
// Scratch is ScratchSlots::kSlots segments.
//
// Bits: a partial result always covers consecutive ranks, and the one of the lower ranks is the
// left operand on both sides, so that both compute the same expression and all ranks get the same
// bits, run after run.
#pragma once

#include "collectives/plan/cost.h"
#include "collectives/plan/plan.h"

namespace paceline {

Plan plan_recursive_doubling(const PlanRequest& request);
Cost cost_of_recursive_doubling(const PlanRequest& request);

}  // namespace paceline
