#include "collectives/algo/binomial.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "collectives/algo/parts.h"
#include "collectives/plan/builder.h"

namespace paceline {
namespace {

// Numbers are relative to the root, which is 0. They have 64 bits, so that no count of ranks
// overflows them.
std::int64_t number_of(const PlanRequest& request, int rank) {
  return (std::int64_t{rank} - request.root + request.ranks) % request.ranks;
}
int rank_at(const PlanRequest& request, std::int64_t number) {
  return static_cast<int>((number + request.root) % request.ranks);
}
// The parent of the root is the root.
int parent_of(const PlanRequest& request, int rank) {
  const std::int64_t number = number_of(request, rank);
  return rank_at(request, number & (number - 1));
}

// The children of a rank.
class Children {
 public:
  explicit Children(const PlanRequest& request) {
    const std::int64_t number = number_of(request, request.rank), ranks = request.ranks;
    std::int64_t lowest = 1;
    while (lowest < ranks && (number & lowest) == 0) lowest *= 2;
    for (std::int64_t bit = lowest / 2; bit > 0; bit /= 2) {
      if (number + bit >= ranks) continue;
      ranks_.push_back(rank_at(request, number + bit));
      sizes_.push_back(static_cast<int>(std::min(bit, ranks - number - bit)));
    }
  }

  const std::vector<int>& ranks() const { return ranks_; }
  /// The number of ranks below each child, with it.
  const std::vector<int>& sizes() const { return sizes_; }

 private:
  std::vector<int> ranks_, sizes_;
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
  for (int rank = 0; rank < request.ranks; ++rank) {
    const int parent = parent_of(request, rank);
    lines.add(up ? rank : parent, up ? parent : rank, request.count);
  }
  return lines.most();
}

// The longest piece of a reduce. All ranks compute the same one, so it is for as many children as
// the root has.
std::size_t piece_count_of_tree(const PlanRequest& request) {
  return PieceSlots::piece_count(request.segment_count, levels(request.ranks));
}

}  // namespace

Plan plan_binomial(const PlanRequest& request) {
  const bool is_root = request.rank == request.root;
  const Children children(request);
  PlanBuilder builder(request);
  for (const Part& segment : segments_of({0, request.count}, request.segment_count)) {
    const Span source = is_root ? input(segment.offset) : output(segment.offset);
    if (!is_root) builder.recv(parent_of(request, request.rank), source, segment.count);
    for (const int child : children.ranks()) builder.send(child, source, segment.count);
    if (is_root) {
      builder.copy({.target = output(segment.offset), .from = source, .count = segment.count});
    }
  }
  return std::move(builder).finish();
}

Plan plan_binomial_reduce(const PlanRequest& request) {
  const bool is_root = request.rank == request.root;
  const Children children(request);
  const std::vector<int> senders(children.ranks().rbegin(), children.ranks().rend());
  std::vector<int> contributions{1};
  std::ranges::reverse_copy(children.sizes(), std::back_inserter(contributions));
  const std::vector<Part> pieces = segments_of({0, request.count}, piece_count_of_tree(request));
  PlanBuilder builder(request);
  const PieceSlots slots(builder, std::min(request.count, piece_count_of_tree(request)),
                         senders.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Part& piece = pieces[i];
    std::vector<Span> operands{input(piece.offset)};
    for (std::size_t child = 0; child < senders.size(); ++child) {
      const Span slot = slots.of(i, child);
      builder.recv(senders[child], slot, piece.count);
      operands.push_back(slot);
    }
    const Span partial = is_root ? output(piece.offset) : operands.back();
    if (!senders.empty())
      builder.reduce({.target = partial,
                      .operands = operands,
                      .count = piece.count,
                      .contributions = contributions});
    if (!is_root) builder.send(parent_of(request, request.rank), partial, piece.count);
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
          .messages = segments_in(request.count, piece_count_of_tree(request)),
          .count_sent = request.count,
          .count_reduced = levels(request.ranks) * request.count,
          .count_between_hosts = edges_between_hosts(request, true)};
}

}  // namespace paceline
