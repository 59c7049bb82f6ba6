// Each rank sends to every other what that one needs, at once: one round, two where a result has to
// go back.
//
//   reduce_scatter   block b of every rank goes to rank b, which reduces all of them in one step,
//                    in the order of the ranks
//   all_reduce       the same with nearly equal parts instead of blocks; then each rank sends its
//                    part of the result to all others
//   reduce           the same, but the results go to the root alone
//   gather, scatter, all_to_all   each block goes from where it is to where it belongs
//
// and the same of blocks that have counts of their own.
//
// A rank sends the least that is possible, count (n - 1) / n elements of all it has, in n - 1
// messages and more: best for long arrays and few ranks. Nothing passes through a third rank, so no
// partial result is ever rounded: an element is one sum in rank order, whatever the count, the
// segments and who shares a host with whom. The exchange is the one that Thakur, Rabenseifner,
// Gropp (IJHPCA 19, 2005) call pairwise, but with all others at a time.
//
// Shares travel in pieces of segments; while one piece is reduced the next one travels.
// Scratch is PieceSlots, from all others.
#pragma once

#include "collectives/plan/cost.h"
#include "collectives/plan/plan.h"

namespace paceline {

/// All-reduce, reduce and reduce_scatter.
Plan plan_direct_reduction(const PlanRequest& request);
Plan plan_direct_gather(const PlanRequest& request);
Plan plan_direct_scatter(const PlanRequest& request);
Plan plan_direct_all_to_all(const PlanRequest& request);
Cost cost_of_direct_reduction(const PlanRequest& request);
Cost cost_of_direct_gather(const PlanRequest& request);
Cost cost_of_direct_scatter(const PlanRequest& request);
Cost cost_of_direct_all_to_all(const PlanRequest& request);

}  // namespace paceline
