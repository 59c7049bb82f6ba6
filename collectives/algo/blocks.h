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
  /// The block of `rank` in the array of all blocks.
  Part part(int rank) const { return {.offset = offset(rank), .count = count(rank)}; }
  std::size_t count(int rank) const { return length(rank, 1); }
  std::size_t length(int first, int blocks) const { return offset(first + blocks) - offset(first); }
  /// The sum of `blocks` blocks from `first` on; blocks count around in a circle.
  std::size_t length_around(int first, int blocks) const;
  /// The sum of all blocks.
  std::size_t length() const { return offsets_.back(); }
  std::size_t longest() const;

 private:
  std::size_t offset(int rank) const { return offsets_[static_cast<std::size_t>(rank)]; }

  Span begin_;
  std::vector<std::size_t> offsets_{0};
};

/// One of request.count or request.counts elements for each rank.
Blocks blocks_of(const PlanRequest& request, Span begin);
/// The blocks that this rank receives: those of blocks_of(), but request.recv_counts for
/// all_to_all_v.
Blocks received_blocks_of(const PlanRequest& request, Span begin);

}  // namespace paceline
