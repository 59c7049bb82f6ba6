// Where the blocks of all ranks lie: one after the other, in the order of the ranks.
#pragma once

#include <cstddef>
#include <vector>

#include "collectives/plan/plan.h"

namespace paceline {

class Blocks {
 public:
  /// The first block begins at `begin`.
  explicit Blocks(Span begin) : begin_(begin) {}

  void add(std::size_t count) { offsets_.push_back(offsets_.back() + count); }

  Span at(int rank) const { return {begin_.buffer, begin_.offset + offset(rank)}; }
  std::size_t length(int first, int blocks) const { return offset(first + blocks) - offset(first); }
  /// Of all blocks.
  std::size_t length() const { return offsets_.back(); }

 private:
  std::size_t offset(int rank) const { return offsets_[static_cast<std::size_t>(rank)]; }

  Span begin_;
  std::vector<std::size_t> offsets_{0};
};

/// One of request.count or request.counts elements for each rank.
Blocks blocks_of(const PlanRequest& request, Span begin);

}  // namespace paceline
