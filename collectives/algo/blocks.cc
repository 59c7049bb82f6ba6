#include "collectives/algo/blocks.h"

namespace paceline {

Blocks blocks_of(const PlanRequest& request, Span begin) {
  Blocks blocks(begin);
  for (int rank = 0; rank < request.ranks; ++rank)
    blocks.add(has_counts(request.kind) ? request.counts[static_cast<std::size_t>(rank)]
                                        : request.count);
  return blocks;
}

}  // namespace paceline
