#include "collectives/algorithms.h"

#include "collectives/algo/binomial.h"
#include "collectives/algo/dissemination.h"
#include "collectives/algo/recursive_doubling.h"
#include "collectives/algo/ring.h"

namespace paceline {
namespace {

constexpr Algorithm kAlgorithms[] = {
    {OperationKind::kBarrier, "dissemination", plan_dissemination, cost_of_dissemination},
    {OperationKind::kBroadcast, "binomial", plan_binomial, cost_of_binomial},
    {OperationKind::kAllReduce, "recursive_doubling", plan_recursive_doubling,
     cost_of_recursive_doubling},
    {OperationKind::kAllReduce, "ring", plan_ring, cost_of_ring},
};

}  // namespace

std::span<const Algorithm> algorithms() { return kAlgorithms; }

std::vector<Plan> plans_of(const Algorithm& algorithm, PlanRequest request) {
  std::vector<Plan> plans;
  for (request.rank = 0; request.rank < request.ranks; ++request.rank) {
    plans.push_back(algorithm.plan(request));
  }
  return plans;
}

}  // namespace paceline
