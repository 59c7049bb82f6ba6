// Reduce-scatter in ceil(log2 n) rounds for any number of ranks: Träff, "Optimal, Non-pipelined
// Reduce-scatter and Allreduce Algorithms", arXiv:2410.14234, 2024. It is the all-gather of bruck.h
// run backwards.
//
//   n = 5:   blocks, counted around the circle from the own one    0   1   2   3   4
//            round 0: 3 and 4 go to the rank 3 further,            +   +      ─►  ─►
//                     which adds them to its 0 and 1
//            round 1: 2 goes to the rank 2 further                 +      ─►
//            round 2: 1 goes to the rank 1 further                 +  ─►
//
// Each round halves the blocks that are left, from s to ceil(s / 2). The rank sends the upper half
// and adds what arrives to the lower half; block 0 is the result. A block waits for at most
// ceil(log2 n) messages one after the other. A rank sends and reduces the blocks of all others
// once, count (n - 1) elements (count: of a block), the least that is possible. Blocks that lie
// together travel in one message: ceil(log2 n) messages for a short array, one more where the
// blocks of round 0 wrap around the end of the array, and one more where n is odd.
//
// Long blocks are cut into columns. A column goes through all rounds on its own, and the next one
// is on its way meanwhile. Scratch is for two columns of the blocks that are reduced in rounds 0
// and 1. That is at most ScratchSlots::kSlots segments, unless there are more than two of those
// blocks for each element of a segment.
//
// Bits: a block is computed on one rank, as a tree whose form depends on n alone.
#pragma once

#include "collectives/plan/cost.h"
#include "collectives/plan/plan.h"

namespace paceline {

Plan plan_circulant(const PlanRequest& request);
Cost cost_of_circulant(const PlanRequest& request);

}  // namespace paceline
