#include "collectives/algo/chain.h"

#include <utility>
#include <vector>

#include "collectives/algo/parts.h"
#include "collectives/plan/builder.h"

namespace paceline {
namespace {

struct Chain {
  explicit Chain(const PlanRequest& request)
      : is_root(request.rank == request.root),
        is_last((request.rank + 1) % request.ranks == request.root),
        nearer((request.rank + request.ranks - 1) % request.ranks),
        further((request.rank + 1) % request.ranks),
        pieces(segments_of({0, request.count}, pipelined_count(request.count, request.ranks - 1,
                                                               request.segment_count))) {}

  const bool is_root, is_last;
  const int nearer, further;  // the neighbours, by their distance to the root
  const std::vector<Part> pieces;
};

Cost cost_along(const PlanRequest& request, bool to_root) {
  if (request.count == 0) return {};
  const int rounds = request.ranks - 1;
  HostLines lines(request.ranks, request.hosts);
  for (int distance = 0; distance < rounds; ++distance) {
    const int near = (request.root + distance) % request.ranks, far = (near + 1) % request.ranks;
    lines.add(to_root ? far : near, to_root ? near : far, request.count);
  }
  return {.rounds = static_cast<std::size_t>(rounds),
          .messages = segments_in(request.count,
                                  pipelined_count(request.count, rounds, request.segment_count)),
          .count_sent = request.count,
          .count_reduced = to_root ? request.count : 0,
          .count_between_hosts = lines.most()};
}

}  // namespace

Plan plan_chain(const PlanRequest& request) {
  const Chain chain(request);
  PlanBuilder builder(request);
  for (const Part& piece : chain.pieces) {
    const Span source = chain.is_root ? input(piece.offset) : output(piece.offset);
    if (!chain.is_root) builder.recv(chain.nearer, source, piece.count);
    if (!chain.is_last) builder.send(chain.further, source, piece.count);
    if (chain.is_root)
      builder.copy({.target = output(piece.offset), .from = source, .count = piece.count});
  }
  return std::move(builder).finish();
}

Plan plan_chain_reduce(const PlanRequest& request) {
  const Chain chain(request);
  const int summed = (request.root + request.ranks - request.rank - 1) % request.ranks;
  PlanBuilder builder(request);
  ScratchSlots slots(builder, chain.pieces.empty() ? 0 : chain.pieces.front().count);
  for (const Part& piece : chain.pieces) {
    Span partial = input(piece.offset);
    if (!chain.is_last) {
      const Span slot = slots.next();
      builder.recv(chain.further, slot, piece.count);
      partial = chain.is_root ? output(piece.offset) : slot;
      builder.reduce({.target = partial,
                      .operands = {input(piece.offset), slot},
                      .count = piece.count,
                      .contributions = {1, summed}});
    }
    if (!chain.is_root) builder.send(chain.nearer, partial, piece.count);
  }
  return std::move(builder).finish();
}

Cost cost_of_chain(const PlanRequest& request) { return cost_along(request, false); }

Cost cost_of_chain_reduce(const PlanRequest& request) { return cost_along(request, true); }

}  // namespace paceline
