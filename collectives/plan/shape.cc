#include "collectives/plan/shape.h"

#include <numeric>

namespace paceline {
namespace {

Part block_among(const std::vector<std::size_t>& counts, int rank) {
  const auto own = counts.begin() + rank;
  return {.offset = std::accumulate(counts.begin(), own, std::size_t{0}), .count = *own};
}

// Elements of all blocks.
std::size_t end_of(const Part& last) { return last.offset + last.count; }

}  // namespace

Part block_of(const PlanRequest& request, int rank) {
  if (has_counts(request.kind)) return block_among(request.counts, rank);
  return {.offset = static_cast<std::size_t>(rank) * request.count, .count = request.count};
}

Part received_block_of(const PlanRequest& request, int rank) {
  if (request.kind == OperationKind::kAllToAllV) return block_among(request.recv_counts, rank);
  return block_of(request, rank);
}

Shape shape_of(const PlanRequest& request) {
  const std::size_t count = request.count;
  const bool is_root = request.rank == request.root;
  const auto own = [&] { return block_of(request, request.rank); };
  const auto all = [&] { return end_of(block_of(request, request.ranks - 1)); };
  switch (request.kind) {
    case OperationKind::kClose:
    case OperationKind::kExchange:
    case OperationKind::kSend:
    case OperationKind::kReceive:
    case OperationKind::kBarrier:
      break;
    case OperationKind::kBroadcast:
      return {.input_count = is_root ? count : 0, .output_count = count};
    case OperationKind::kReduce:
      return {.input_count = count, .output_count = is_root ? count : 0};
    case OperationKind::kAllReduce:
      return {.input_count = count, .output_count = count};
    case OperationKind::kReduceScatter:
    case OperationKind::kReduceScatterV:
      return {.input_count = all(), .output_count = own().count, .output_at = own().offset};
    case OperationKind::kAllGather:
    case OperationKind::kAllGatherV:
      return {.input_count = own().count, .output_count = all(), .input_at = own().offset};
    case OperationKind::kGather:
    case OperationKind::kGatherV:
      if (!is_root) return {.input_count = own().count};
      return {.input_count = own().count, .output_count = all(), .input_at = own().offset};
    case OperationKind::kScatter:
    case OperationKind::kScatterV:
      if (!is_root) return {.output_count = own().count};
      return {.input_count = all(), .output_count = own().count, .output_at = own().offset};
    case OperationKind::kAllToAll:
    case OperationKind::kAllToAllV:
      return {.input_count = all(),
              .output_count = end_of(received_block_of(request, request.ranks - 1)),
              .output_at = all()};
  }
  return {};
}

std::vector<PlanRequest> requests_of(PlanRequest request) {
  std::vector<PlanRequest> requests;
  for (request.rank = 0; request.rank < request.ranks; ++request.rank) requests.push_back(request);
  return requests;
}

std::vector<Origin> origins_of(const std::vector<PlanRequest>& requests, int rank) {
  const PlanRequest& request = requests[static_cast<std::size_t>(rank)];
  const Part array{0, request.count};
  const auto one = [](const Part& block, int of, std::size_t input_begin) {
    return std::vector<Origin>{{0, block.count, of, input_begin}};
  };
  const auto a_block_of_each = [&](bool is_exchange) {
    std::vector<Origin> origins;
    for (const PlanRequest& other : requests) {
      const Part block = received_block_of(request, other.rank);
      origins.push_back(
          {block.offset, block.count, other.rank, is_exchange ? block_of(other, rank).offset : 0});
    }
    return origins;
  };
  const Part own = block_of(request, rank);
  if (shape_of(request).output_count == 0) return {};
  switch (request.kind) {
    case OperationKind::kClose:
    case OperationKind::kExchange:
    case OperationKind::kSend:
    case OperationKind::kReceive:
    case OperationKind::kBarrier:
      break;
    case OperationKind::kBroadcast:
      return one(array, request.root, 0);
    case OperationKind::kReduce:
    case OperationKind::kAllReduce:
      return one(array, Origin::kEveryRank, 0);
    case OperationKind::kReduceScatter:
    case OperationKind::kReduceScatterV:
      return one(own, Origin::kEveryRank, own.offset);
    case OperationKind::kScatter:
    case OperationKind::kScatterV:
      return one(own, request.root, own.offset);
    case OperationKind::kAllGather:
    case OperationKind::kAllGatherV:
    case OperationKind::kGather:
    case OperationKind::kGatherV:
      return a_block_of_each(false);
    case OperationKind::kAllToAll:
    case OperationKind::kAllToAllV:
      return a_block_of_each(true);
  }
  return {};
}

}  // namespace paceline
