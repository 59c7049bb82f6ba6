// The table of algorithms: what there is, by operation and name. A new one is a file in algo/ and
// a row here; check() proves it and its costs are compared with its plans by iterating the table.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "collectives/plan/cost.h"
#include "collectives/plan/plan.h"

namespace paceline {

struct Algorithm {
  OperationKind kind;
  std::string_view name;
  /// Used by plan() and cost(), for at least two ranks.
  Plan (*plan_of_several)(const PlanRequest& request);
  Cost (*cost_of_several)(const PlanRequest& request);
  /// For kinds that reduce: each element of the result is one reduce of all inputs, in the order of
  /// the ranks (check_rank_order() proves it).
  bool in_rank_order = false;
  /// Its plans depend on PlanRequest::hosts. Where each rank has a host of its own, it does what
  /// another row does better or as well, so select() takes it only if it is forced.
  bool knows_hosts = false;

  /// The plan of request.rank: a pure function. The request is valid: rank and root lie within
  /// ranks, segment_count is at least 1. A rank that is alone copies its input to its output.
  Plan plan(const PlanRequest& request) const;
  /// A formula for what measure() counts in the plans of all ranks. It makes no plans. All ranks
  /// compute the same cost, except for all_to_all_v.
  Cost cost(const PlanRequest& request) const;
};

std::span<const Algorithm> algorithms();
/// The row of this kind and name, or null.
const Algorithm* find_algorithm(OperationKind kind, std::string_view name);

/// The plans of all ranks; plans and requests are indexed by rank.
std::vector<Plan> plans_of(const Algorithm& algorithm, const std::vector<PlanRequest>& requests);
/// As above, for kinds whose requests differ only in the rank; request.rank is ignored.
std::vector<Plan> plans_of(const Algorithm& algorithm, const PlanRequest& request);

}  // namespace paceline
