#include "collectives/plan/shape.h"

namespace paceline {

Shape shape_of(const PlanRequest& request) {
  const std::size_t count = request.count;
  const std::size_t all = count * static_cast<std::size_t>(request.ranks);
  const std::size_t own = count * static_cast<std::size_t>(request.rank);
  const bool is_root = request.rank == request.root;
  switch (request.kind) {
    case OperationKind::kClose:
    case OperationKind::kBarrier:
      break;
    case OperationKind::kBroadcast:
      return {.input_count = is_root ? count : 0, .output_count = count};
    case OperationKind::kReduce:
      return {.input_count = count, .output_count = is_root ? count : 0};
    case OperationKind::kAllReduce:
      return {.input_count = count, .output_count = count};
    case OperationKind::kReduceScatter:
      return {.input_count = all, .output_count = count, .output_at = own};
    case OperationKind::kAllGather:
      return {.input_count = count, .output_count = all, .input_at = own};
    case OperationKind::kGather:
      if (!is_root) return {.input_count = count};
      return {.input_count = count, .output_count = all, .input_at = own};
    case OperationKind::kScatter:
      if (!is_root) return {.output_count = count};
      return {.input_count = all, .output_count = count, .output_at = own};
    case OperationKind::kAllToAll:
      return {.input_count = all, .output_count = all, .output_at = all};
  }
  return {};
}

std::vector<Origin> origins_of(const PlanRequest& request) {
  const std::size_t count = request.count;
  const std::size_t own = count * static_cast<std::size_t>(request.rank);
  const auto a_block_of_each = [&](std::size_t input_begin) {
    std::vector<Origin> origins;
    for (int rank = 0; rank < request.ranks; ++rank)
      origins.push_back({static_cast<std::size_t>(rank) * count, count, rank, input_begin});
    return origins;
  };
  if (shape_of(request).output_count == 0) return {};
  switch (request.kind) {
    case OperationKind::kClose:
    case OperationKind::kBarrier:
      break;
    case OperationKind::kBroadcast:
      return {{0, count, request.root, 0}};
    case OperationKind::kReduce:
    case OperationKind::kAllReduce:
      return {{0, count, Origin::kEveryRank, 0}};
    case OperationKind::kReduceScatter:
      return {{0, count, Origin::kEveryRank, own}};
    case OperationKind::kAllGather:
    case OperationKind::kGather:
      return a_block_of_each(0);
    case OperationKind::kScatter:
      return {{0, count, request.root, own}};
    case OperationKind::kAllToAll:
      return a_block_of_each(own);
  }
  return {};
}

}  // namespace paceline
