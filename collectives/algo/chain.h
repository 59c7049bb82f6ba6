// Broadcast down a chain of all ranks, and reduce up, by pieces of the array.
//
//   root ──► root + 1 ──► root + 2 ──► … ──► root - 1      around the circle
//
// A rank passes a piece on while the next one arrives. Rounds n - 1; a rank sends count elements,
// the least that is possible, where the root of the binomial tree (binomial.h) sends ceil(log2 n)
// times as many. Best for long arrays.
//
// With s pieces the last one arrives after s + n - 2 steps. So there are several pieces for each
// round (pipelined_count()), and the chain is filled in a fraction of the time. The two trees
// of Sanders, Speck, Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan",
// Parallel Computing 35, 2009, are filled after about 2 log2 n steps at the same bandwidth. They
// are worth their two parents for each rank when n is in the hundreds. Groups of so many ranks
// share hosts, and the chain of hosts (hierarchical_distribution.h) is shorter.
#pragma once

#include "collectives/plan/cost.h"
#include "collectives/plan/plan.h"

namespace paceline {

Plan plan_chain(const PlanRequest& request);
Cost cost_of_chain(const PlanRequest& request);

// Each rank reduces what comes from the next one with its own input, which is the left operand.
// Scratch is ScratchSlots.
Plan plan_chain_reduce(const PlanRequest& request);
Cost cost_of_chain_reduce(const PlanRequest& request);

}  // namespace paceline
