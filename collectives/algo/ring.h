// All-reduce around a ring: reduce-scatter, then all-gather (Patarasuk, Yuan, "Bandwidth optimal
// all-reduce algorithms for clusters of workstations", JPDC 69, 2009).
//
//        0 ──► 1          Each rank sends to the right and receives from the left only. The array
//        ▲     │          has one part per rank. Part p starts at rank p, which sends its input;
//        │     ▼          each rank on the way reduces what arrives with its own input, and rank
//        3 ◄── 2          p - 1, the last, has the result, which then goes around once more.
//
// Rounds 2(n - 1); each rank sends 2 count (n - 1) / n elements, the least that is possible, and
// reduces count (n - 1) / n. Best for long arrays.
//
// Parts travel in segments: a segment moves on as soon as it has been reduced, whatever became of
// its neighbours. Partial results lie in the output, so scratch is ScratchSlots::kSlots segments.
// Each input element is read once before its place in the output is written, so that operation in
// place needs no copy and operation out of place no prior one.
//
// Bits: part p is computed on one rank, as ((in[p] op in[p+1]) op in[p+2]) …, ranks counting around
// the ring, so all ranks get the same bits, run after run.
#pragma once

#include "collectives/plan/cost.h"
#include "collectives/plan/plan.h"

namespace paceline {

Plan plan_ring(const PlanRequest& request);
Cost cost_of_ring(const PlanRequest& request);

}  // namespace paceline
