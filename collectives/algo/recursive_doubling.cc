#include "collectives/algo/recursive_doubling.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "collectives/algo/parts.h"
#include "collectives/plan/builder.h"

namespace paceline {
namespace {

// The ranks that take part in the exchanges. Places 0 … power - 1 are numbered in the order of
// ranks.
struct Folding {
  explicit Folding(int ranks)
      : power(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))),
        extra(ranks - power) {}

  bool folded(int rank) const { return rank < 2 * extra; }
  bool leaves(int rank) const { return folded(rank) && rank % 2 == 0; }
  int place_of(int rank) const { return folded(rank) ? rank / 2 : rank - extra; }
  int rank_at(int place) const { return place < extra ? 2 * place + 1 : place + extra; }
  // The ranks of the block of `places` places, a power of two, that `place` is in.
  int ranks_around(int place, int places) const {
    return places + std::clamp(extra - place / places * places, 0, places);
  }

  int power;
  int extra;
};

std::size_t bits_in(int number) {
  return static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(number)));
}

class Doubling {
 public:
  explicit Doubling(const PlanRequest& request)
      : rank_(request.rank),
        segments_(segments_of({0, request.count}, request.segment_count)),
        builder_(request),
        slots_(builder_, std::min(request.count, request.segment_count)) {}

  void send_partial(int peer) {
    for (const Part& segment : segments_) builder_.send(peer, partial(segment), segment.count);
  }

  /// The peer's partial result, of so many ranks, joins ours. The lower ranks are on the left.
  void reduce_from(int peer, int ours_has, int theirs_has) {
    for (const Part& segment : segments_) {
      const Span theirs = slots_.next();
      const Span ours = partial(segment);
      builder_.recv(peer, theirs, segment.count);
      builder_.reduce({.target = output(segment.offset),
                       .operands = {peer < rank_ ? theirs : ours, peer < rank_ ? ours : theirs},
                       .count = segment.count,
                       .contributions = {peer < rank_ ? theirs_has : ours_has,
                                         peer < rank_ ? ours_has : theirs_has}});
    }
    in_output_ = true;
  }

  void take_result(int peer) {
    for (const Part& segment : segments_) {
      builder_.recv(peer, output(segment.offset), segment.count);
    }
  }

  Plan finish() { return std::move(builder_).finish(); }

 private:
  Span partial(const Part& segment) const {
    return in_output_ ? output(segment.offset) : input(segment.offset);
  }

  int rank_;
  std::vector<Part> segments_;
  PlanBuilder builder_;
  ScratchSlots slots_;
  bool in_output_ = false;
};

std::size_t between_hosts(const Folding& folding, const PlanRequest& request) {
  HostLines lines(request.ranks, request.hosts);
  for (int rank = 0; rank < request.ranks; ++rank) {
    if (folding.leaves(rank)) {
      lines.add(rank, rank + 1, request.count);
      lines.add(rank + 1, rank, request.count);
      continue;
    }
    for (int distance = 1; distance < folding.power; distance *= 2)
      lines.add(rank, folding.rank_at(folding.place_of(rank) ^ distance), request.count);
  }
  return lines.most();
}

}  // namespace

Plan plan_recursive_doubling(const PlanRequest& request) {
  const int rank = request.rank;
  const Folding folding(request.ranks);
  Doubling doubling(request);

  if (folding.leaves(rank)) {
    doubling.send_partial(rank + 1);
    doubling.take_result(rank + 1);
    return doubling.finish();
  }
  if (folding.folded(rank)) doubling.reduce_from(rank - 1, 1, 1);
  for (int distance = 1; distance < folding.power; distance *= 2) {
    const int place = folding.place_of(rank), other = place ^ distance;
    const int peer = folding.rank_at(other);
    doubling.send_partial(peer);
    doubling.reduce_from(peer, folding.ranks_around(place, distance),
                         folding.ranks_around(other, distance));
  }
  if (folding.folded(rank)) doubling.send_partial(rank - 1);
  return doubling.finish();
}

// The longest chain without folds is a way through all exchanges. With them it either folds in and
// goes on through all exchanges, or folds in at one place and out at the one that differs from it
// in most bits; folded places are those below `extra`.
Cost cost_of_recursive_doubling(const PlanRequest& request) {
  if (request.count == 0) return {};
  const Folding folding(request.ranks);
  const bool folds = folding.extra > 0;
  const std::size_t exchanges = bits_in(folding.power - 1);
  const std::size_t bits_between = folds ? bits_in(folding.extra - 1) : 0;
  const std::size_t passes = exchanges + (folds ? 1 : 0);
  return {.rounds = folds ? std::max(1 + exchanges, 2 + bits_between) : exchanges,
          .messages = passes * segments_in(request.count, request.segment_count),
          .count_sent = passes * request.count,
          .count_reduced = passes * request.count,
          .count_between_hosts = between_hosts(folding, request)};
}

}  // namespace paceline
