#include "launcher/tools/measure/probe/loop/operation.h"

#include <algorithm>

namespace paceline::probe {
namespace {

double one(int) { return 1; }
double nothing(int) { return 0; }
double everybody(int ranks) { return ranks; }
double all_but_one(int ranks) { return ranks - 1; }
// What of an array has another rank's name on it.
double of_others(int ranks) { return static_cast<double>(ranks - 1) / ranks; }
double there_and_back(int ranks) { return 2 * of_others(ranks); }

// Factors: nccl-tests, doc/PERFORMANCE.md.
constexpr Operation kOperations[] = {
    {.kind = OperationKind::kAllReduce, .bus_factor = there_and_back, .written = everybody},
    {.kind = OperationKind::kReduceScatter, .bus_factor = of_others, .written = one},
    {.kind = OperationKind::kAllGather, .bus_factor = of_others, .written = all_but_one},
    {.kind = OperationKind::kAllToAll, .bus_factor = of_others, .written = everybody},
    {.kind = OperationKind::kBroadcast, .bus_factor = one, .written = all_but_one},
    {.kind = OperationKind::kReduce, .bus_factor = one, .written = one},
    {.kind = OperationKind::kGather, .bus_factor = of_others, .written = of_others},
    {.kind = OperationKind::kScatter, .bus_factor = of_others, .written = of_others},
    {.kind = OperationKind::kSend, .bus_factor = one, .written = one},
    {.kind = OperationKind::kExchange, .bus_factor = one, .written = everybody},
    {.kind = OperationKind::kBarrier, .bus_factor = one, .written = nothing},
};

}  // namespace

std::size_t Operation::blocks(int ranks) const {
  if (is_pairwise()) return 1;
  const Shape one_each = shape_of({.kind = kind, .ranks = ranks, .count = 1});
  return std::max(one_each.input_count, one_each.output_count);
}

Shape Operation::shape(const PlanRequest& request) const {
  if (!is_pairwise()) return shape_of(request);
  const bool each = kind == OperationKind::kExchange;
  return {.input_count = each || request.rank == 0 ? request.count : 0,
          .output_count = each || request.rank == 1 ? request.count : 0};
}

std::vector<Origin> Operation::origins(const std::vector<PlanRequest>& requests, int rank) const {
  if (!is_pairwise()) return origins_of(requests, rank);
  const PlanRequest& own = requests[static_cast<std::size_t>(rank)];
  if (shape(own).output_count == 0) return {};
  return {{.count = own.count, .rank = previous_to(rank, own.ranks)}};
}

std::span<const Operation> operations() { return kOperations; }

const Operation* find_operation(std::string_view name) {
  const auto* const end = std::end(kOperations);
  const auto* const found =
      std::find_if(std::begin(kOperations), end,
                   [name](const Operation& operation) { return operation.name() == name; });
  return found != end ? found : nullptr;
}

}  // namespace paceline::probe
