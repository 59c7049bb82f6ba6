#include "collectives/algo/binomial.h"

#include <algorithm>
#include <bit>
#include <iterator>
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
      if (relative + bit >= ranks_) continue;
      children_.push_back(rank_at(relative + bit));
      sizes_.push_back(static_cast<int>(std::min(bit, ranks_ - relative - bit)));
    }
  }

  int parent() const { return parent_; }
  const std::vector<int>& children() const { return children_; }
  /// The number of ranks below each child, with it.
  const std::vector<int>& sizes() const { return sizes_; }

 private:
  int rank_at(std::int64_t relative) const { return static_cast<int>((relative + root_) % ranks_); }

  std::int64_t ranks_;
  std::int64_t root_;
  int parent_ = 0;
  std::vector<int> children_, sizes_;
};

std::size_t levels(int ranks) {
  return static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(ranks - 1)));
}

// The longest way has as many messages as the number below n with most bits set has bits.
std::size_t longest_way(int ranks) {
  return static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(ranks)) - 1);
}

std::size_t edges_between_hosts(const PlanRequest& request, bool up) {
  HostLines lines(request.ranks, request.hosts);
  PlanRequest one = request;
  for (one.rank = 0; one.rank < one.ranks; ++one.rank) {
    if (one.rank == one.root) continue;
    const int parent = Tree(one).parent();
    lines.add(up ? one.rank : parent, up ? parent : one.rank, request.count);
  }
  return lines.most();
}

// Of what is reduced: the same on all ranks, so for as many children as the root has.
std::size_t pieces_of_tree(const PlanRequest& request) {
  return PieceSlots::piece_count(request.segment_count, levels(request.ranks));
}

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

Plan plan_binomial_reduce(const PlanRequest& request) {
  const bool is_root = request.rank == request.root;
  const Tree tree(request);
  const std::vector<int> children(tree.children().rbegin(), tree.children().rend());
  std::vector<int> contributions{1};
  std::ranges::reverse_copy(tree.sizes(), std::back_inserter(contributions));
  const std::vector<Part> pieces = segments_of({0, request.count}, pieces_of_tree(request));
  PlanBuilder builder(request);
  const PieceSlots slots(builder, std::min(request.count, pieces_of_tree(request)),
                         children.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Part& piece = pieces[i];
    std::vector<Span> operands{input(piece.offset)};
    for (std::size_t child = 0; child < children.size(); ++child) {
      const Span slot = slots.of(i, child);
      builder.recv(children[child], slot, piece.count);
      operands.push_back(slot);
    }
    const Span partial = is_root ? output(piece.offset) : operands.back();
    if (!children.empty())
      builder.reduce({.target = partial,
                      .operands = operands,
                      .count = piece.count,
                      .contributions = contributions});
    if (!is_root) builder.send(tree.parent(), partial, piece.count);
  }
  return std::move(builder).finish();
}

Cost cost_of_binomial(const PlanRequest& request) {
  if (request.count == 0) return {};
  const std::size_t children = levels(request.ranks);
  return {.rounds = longest_way(request.ranks),
          .messages = children * segments_in(request.count, request.segment_count),
          .count_sent = children * request.count,
          .count_between_hosts = edges_between_hosts(request, false)};
}

Cost cost_of_binomial_reduce(const PlanRequest& request) {
  if (request.count == 0) return {};
  return {.rounds = longest_way(request.ranks),
          .messages = segments_in(request.count, pieces_of_tree(request)),
          .count_sent = request.count,
          .count_reduced = levels(request.ranks) * request.count,
          .count_between_hosts = edges_between_hosts(request, true)};
}

}  // namespace paceline
