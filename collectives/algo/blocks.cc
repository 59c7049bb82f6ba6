#include "collectives/algo/blocks.h"

#include <algorithm>

namespace paceline {

std::size_t Blocks::length_around(int first, int blocks) const {
  const int ranks = static_cast<int>(offsets_.size()) - 1;
  const int begin = first % ranks, wraps = std::max(begin + blocks - ranks, 0);
  return length(begin, blocks - wraps) + length(0, wraps);
}

std::size_t Blocks::longest() const {
  std::size_t longest = 0;
  for (std::size_t end = 1; end < offsets_.size(); ++end)
    longest = std::max(longest, offsets_[end] - offsets_[end - 1]);
  return longest;
}

Blocks blocks_of(const PlanRequest& request, Span begin) {
  Blocks blocks(begin);
  for (int rank = 0; rank < request.ranks; ++rank)
    blocks.add(has_counts(request.kind) ? request.counts[static_cast<std::size_t>(rank)]
                                        : request.count);
  return blocks;
}

Blocks received_blocks_of(const PlanRequest& request, Span begin) {
  if (request.kind != OperationKind::kAllToAllV) return blocks_of(request, begin);
  Blocks blocks(begin);
  for (const std::size_t count : request.recv_counts) blocks.add(count);
  return blocks;
}

}  // namespace paceline
