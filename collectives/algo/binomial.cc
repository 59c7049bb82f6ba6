#include "collectives/algo/binomial.h"

#include <bit>
#include <utility>
#include <vector>

#include "collectives/algo/parts.h"
#include "collectives/plan/builder.h"

namespace paceline {
namespace {

// Numbers are relative to the root, which is 0. Bits are taken from 64-bit numbers, so that no
// count of ranks overflows them.
class Tree {
 public:
  explicit Tree(const PlanRequest& request) : ranks_(request.ranks), root_(request.root) {
    const std::int64_t relative = (std::int64_t{request.rank} - root_ + ranks_) % ranks_;
    std::int64_t lowest = 1;
    while (lowest < ranks_ && (relative & lowest) == 0) lowest *= 2;
    parent_ = rank_at(relative & ~lowest);
    for (std::int64_t bit = lowest / 2; bit > 0; bit /= 2) {
      if (relative + bit < ranks_) children_.push_back(rank_at(relative + bit));
    }
  }

  int parent() const { return parent_; }
  const std::vector<int>& children() const { return children_; }

 private:
  int rank_at(std::int64_t relative) const { return static_cast<int>((relative + root_) % ranks_); }

  std::int64_t ranks_;
  std::int64_t root_;
  int parent_ = 0;
  std::vector<int> children_;
};

}  // namespace

Plan plan_binomial(const PlanRequest& request) {
  const bool is_root = request.rank == request.root;
  const Tree tree(request);
  PlanBuilder builder(request);
  for (const Part& segment : segments_of({0, request.count}, request.segment_count)) {
    const Span source = is_root ? input(segment.offset) : output(segment.offset);
    if (!is_root) builder.recv(tree.parent(), source, segment.count);
    for (const int child : tree.children()) builder.send(child, source, segment.count);
    if (is_root) {
      builder.copy({.target = output(segment.offset), .from = source, .count = segment.count});
    }
  }
  return std::move(builder).finish();
}

// The longest way has as many messages as the number below n with most bits set has bits.
Cost cost_of_binomial(const PlanRequest& request) {
  if (request.count == 0) return {};
  const unsigned ranks = static_cast<unsigned>(request.ranks);
  const std::size_t longest = static_cast<std::size_t>(std::bit_width(ranks) - 1);
  const std::size_t children = static_cast<std::size_t>(std::bit_width(ranks - 1));
  return {.rounds = longest,
          .messages = children * segments_in(request.count, request.segment_count),
          .count_sent = children * request.count,
          .count_reduced = 0};
}

}  // namespace paceline
