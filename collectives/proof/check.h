// Proof that a set of plans, one per rank, does what was asked for.
//
//   std::vector<Plan> plans;
//   for (request.rank = 0; request.rank < n; ++request.rank) plans.push_back(plan_ring(request));
//   Status status = check(plans, request);
//
// It knows nothing about how the plans were made. In this order, it proves for each rank
//   1. structure: spans lie within their buffers, dependencies point backwards, peers exist and
//      are others, the input is not written, no step writes over half of what it reads;
//   2. no races (races.h);
// and for all together
//   3. matching: every message has both ends, of equal counts (matching.h);
//   4. no deadlock, even if a send ends only once its recv has begun (matching.h);
//   5. the result (results.h), out of place and in place, and the contributions that each operand
//      is said to hold.
//
// One order of execution is enough for 5. Each step is a function of what it reads; without races
// (2) the dependencies fix which write each read sees; matching (3) fixes which send each recv
// meets, whatever the order in which they begin. So all orders compute the same values: such
// plans are a Kahn process network (Kahn, "The semantics of a simple language for parallel
// programming", IFIP 1974). And one order that ends, under the hardest rules (4), means that all
// end.
//
// Values are expressions over whole ranges, so time and memory grow with steps and pieces, not
// with elements.
#pragma once

#include <span>
#include <vector>

#include <paceline/status.h>

#include "collectives/plan/plan.h"

namespace paceline {

/// Plans are indexed by rank, and so are the requests that they were made for. An error names the
/// rank, the step and what is wrong with it.
Status check(std::span<const Plan> plans, const std::vector<PlanRequest>& requests);
/// Of a kind of which all ranks know the same; the request's own rank does not matter.
Status check(std::span<const Plan> plans, const PlanRequest& request);

/// Of plans that check() accepts: is each element of a result one reduce of all inputs, in the
/// order of the ranks? True of what does not reduce.
Status check_rank_order(std::span<const Plan> plans, const std::vector<PlanRequest>& requests);

}  // namespace paceline
