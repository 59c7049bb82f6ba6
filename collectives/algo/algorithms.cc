#include "collectives/algo/algorithms.h"

#include <utility>

#include "collectives/algo/binomial.h"
#include "collectives/algo/bruck.h"
#include "collectives/algo/chain.h"
#include "collectives/algo/circulant.h"
#include "collectives/algo/direct.h"
#include "collectives/algo/dissemination.h"
#include "collectives/algo/hierarchical.h"
#include "collectives/algo/hierarchical_barrier.h"
#include "collectives/algo/hierarchical_distribution.h"
#include "collectives/algo/hierarchical_reduction.h"
#include "collectives/algo/recursive_doubling.h"
#include "collectives/algo/ring.h"
#include "collectives/plan/builder.h"

namespace paceline {
namespace {

constexpr Algorithm kAlgorithms[] = {
    {OperationKind::kBarrier, "dissemination", plan_dissemination, cost_of_dissemination},
    {OperationKind::kBarrier, "hierarchical", plan_hierarchical_barrier,
     cost_of_hierarchical_barrier, false, true},
    {OperationKind::kBroadcast, "binomial", plan_binomial, cost_of_binomial},
    {OperationKind::kBroadcast, "chain", plan_chain, cost_of_chain},
    {OperationKind::kBroadcast, "hierarchical", plan_hierarchical_distribution,
     cost_of_hierarchical_distribution, false, true},
    {OperationKind::kAllReduce, "recursive_doubling", plan_recursive_doubling,
     cost_of_recursive_doubling},
    {OperationKind::kAllReduce, "ring", plan_ring, cost_of_ring},
    {OperationKind::kAllReduce, "hierarchical", plan_hierarchical, cost_of_hierarchical, false,
     true},
    {OperationKind::kAllReduce, "direct", plan_direct_reduction, cost_of_direct_reduction, true},
    {OperationKind::kAllReduce, "gather_reduce", plan_gather_reduce, cost_of_gather_reduce, true},
    {OperationKind::kReduce, "binomial", plan_binomial_reduce, cost_of_binomial_reduce},
    {OperationKind::kReduce, "direct", plan_direct_reduction, cost_of_direct_reduction, true},
    {OperationKind::kReduce, "chain", plan_chain_reduce, cost_of_chain_reduce},
    {OperationKind::kReduce, "hierarchical", plan_hierarchical_reduction,
     cost_of_hierarchical_reduction, false, true},
    {OperationKind::kReduceScatter, "direct", plan_direct_reduction, cost_of_direct_reduction,
     true},
    {OperationKind::kReduceScatter, "circulant", plan_circulant, cost_of_circulant},
    {OperationKind::kReduceScatter, "hierarchical", plan_hierarchical_reduction,
     cost_of_hierarchical_reduction, false, true},
    {OperationKind::kAllGather, "bruck", plan_bruck, cost_of_bruck},
    {OperationKind::kAllGather, "hierarchical", plan_hierarchical_distribution,
     cost_of_hierarchical_distribution, false, true},
    {OperationKind::kGather, "direct", plan_direct_gather, cost_of_direct_gather},
    {OperationKind::kScatter, "direct", plan_direct_scatter, cost_of_direct_scatter},
    {OperationKind::kAllToAll, "direct", plan_direct_all_to_all, cost_of_direct_all_to_all},
    {OperationKind::kReduceScatterV, "direct", plan_direct_reduction, cost_of_direct_reduction,
     true},
    {OperationKind::kReduceScatterV, "circulant", plan_circulant, cost_of_circulant},
    {OperationKind::kReduceScatterV, "hierarchical", plan_hierarchical_reduction,
     cost_of_hierarchical_reduction, false, true},
    {OperationKind::kAllGatherV, "bruck", plan_bruck, cost_of_bruck},
    {OperationKind::kAllGatherV, "hierarchical", plan_hierarchical_distribution,
     cost_of_hierarchical_distribution, false, true},
    {OperationKind::kGatherV, "direct", plan_direct_gather, cost_of_direct_gather},
    {OperationKind::kScatterV, "direct", plan_direct_scatter, cost_of_direct_scatter},
    {OperationKind::kAllToAllV, "direct", plan_direct_all_to_all, cost_of_direct_all_to_all},
};

}  // namespace

Plan Algorithm::plan(const PlanRequest& request) const {
  if (request.ranks > 1) return plan_of_several(request);
  PlanBuilder builder(request);
  builder.copy({.target = output(0), .from = input(0), .count = shape_of(request).output_count});
  return std::move(builder).finish();
}

Cost Algorithm::cost(const PlanRequest& request) const {
  return request.ranks > 1 ? cost_of_several(request) : Cost();
}

std::span<const Algorithm> algorithms() { return kAlgorithms; }

const Algorithm* find_algorithm(OperationKind kind, std::string_view name) {
  for (const Algorithm& algorithm : kAlgorithms)
    if (algorithm.kind == kind && algorithm.name == name) return &algorithm;
  return nullptr;
}

std::vector<Plan> plans_of(const Algorithm& algorithm, const std::vector<PlanRequest>& requests) {
  std::vector<Plan> plans;
  for (const PlanRequest& request : requests) plans.push_back(algorithm.plan(request));
  return plans;
}

std::vector<Plan> plans_of(const Algorithm& algorithm, const PlanRequest& request) {
  return plans_of(algorithm, requests_of(request));
}

}  // namespace paceline
