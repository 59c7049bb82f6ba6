#include "collectives/algo/bruck.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

#include "collectives/algo/blocks.h"
#include "collectives/algo/parts.h"
#include "collectives/plan/builder.h"

namespace paceline {
namespace {

// Blocks that lie together.
struct Run {
  int first;
  int blocks;
};

// The blocks of `blocks` ranks from `first` on, around the circle: one run or two.
std::vector<Run> runs_of(int ranks, int first, int blocks) {
  const int wraps = std::max(first + blocks - ranks, 0);
  std::vector<Run> runs{{first, blocks - wraps}};
  if (wraps > 0) runs.push_back({0, wraps});
  return runs;
}

// `own` and everybody else's come to lie in `all`.
void gather(PlanBuilder& builder, const PlanRequest& request, Span own, const Blocks& all) {
  const int n = request.ranks, rank = request.rank;
  const auto length = [&](const Run& run) { return all.length(run.first, run.blocks); };
  for (int have = 1; have < n; have *= 2) {
    const int more = std::min(have, n - have);
    const int to = (rank + n - have) % n, from = (rank + have) % n;
    for (const Run& run : runs_of(n, rank, more)) {
      // Nobody waits for the own block to be copied.
      builder.send(to, have == 1 ? own : all.at(run.first), length(run));
    }
    for (const Run& run : runs_of(n, from, more)) {
      builder.recv(from, all.at(run.first), length(run));
    }
    if (have == 1)
      builder.copy({.target = all.at(rank), .from = own, .count = all.length(rank, 1)});
  }
}

// The last rank's blocks wrap in every round in which it sends more than one.
Cost cost_of_gathering(const PlanRequest& request, const Blocks& blocks) {
  const int ranks = request.ranks;
  Cost cost;
  HostLines lines(ranks, request.hosts);
  std::vector<std::size_t> sent(static_cast<std::size_t>(ranks), 0);
  for (int have = 1; have < ranks; have *= 2) {
    const int more = std::min(have, ranks - have);
    // A block has come as many rounds ago as it takes to gather those that are sent with it.
    const auto rounds = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(more - 1)));
    cost.rounds = std::max(cost.rounds, rounds + 1);
    cost.messages += more > 1 ? 2 : 1;
    for (int rank = 0; rank < ranks; ++rank) {
      const std::size_t count = blocks.length_around(rank, more);
      sent[static_cast<std::size_t>(rank)] += count;
      lines.add(rank, (rank + ranks - have) % ranks, count);
    }
  }
  cost.count_sent = *std::max_element(sent.begin(), sent.end());
  cost.count_between_hosts = lines.most();
  return cost;
}

}  // namespace

Plan plan_bruck(const PlanRequest& request) {
  PlanBuilder builder(request);
  const Blocks all = blocks_of(request, output(0));
  if (all.length() > 0) gather(builder, request, input(0), all);
  return std::move(builder).finish();
}

Cost cost_of_bruck(const PlanRequest& request) {
  const Blocks all = blocks_of(request, output(0));
  return all.length() == 0 ? Cost() : cost_of_gathering(request, all);
}

Plan plan_gather_reduce(const PlanRequest& request) {
  PlanBuilder builder(request);
  if (request.count == 0) return std::move(builder).finish();
  const auto ranks = static_cast<std::size_t>(request.ranks);
  const Span scratch = builder.reserve_scratch(ranks * request.count);
  const Blocks all = blocks_of(request, scratch);
  gather(builder, request, input(0), all);
  std::vector<Span> operands;
  for (int rank = 0; rank < request.ranks; ++rank) operands.push_back(all.at(rank));
  builder.reduce({.target = output(0), .operands = std::move(operands), .count = request.count});
  return std::move(builder).finish();
}

Cost cost_of_gather_reduce(const PlanRequest& request) {
  if (request.count == 0) return {};
  Cost cost = cost_of_gathering(request, blocks_of(request, output(0)));
  cost.count_reduced = static_cast<std::size_t>(request.ranks - 1) * request.count;
  return cost;
}

}  // namespace paceline
