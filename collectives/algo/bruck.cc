#include "collectives/algo/bruck.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "collectives/algo/parts.h"
#include "collectives/plan/builder.h"

namespace paceline {
namespace {

// The blocks of `ranks` ranks from `first` on, around the circle: one range of the output or two.
std::vector<Part> ranges_of(const PlanRequest& request, int first, int ranks) {
  const int wraps = std::max(first + ranks - request.ranks, 0);
  std::vector<Part> ranges;
  for (const auto& [begin, end] : {std::pair(first, first + ranks - wraps), std::pair(0, wraps)}) {
    if (begin == end) continue;
    const std::size_t offset = block_of(request, begin).offset;
    const Part last = block_of(request, end - 1);
    const Part range{.offset = offset, .count = last.offset + last.count - offset};
    if (range.count > 0) ranges.push_back(range);
  }
  return ranges;
}

}  // namespace

Plan plan_bruck(const PlanRequest& request) {
  const int n = request.ranks, rank = request.rank;
  PlanBuilder builder(request);
  const Part own = block_of(request, rank);
  for (int have = 1; have < n; have *= 2) {
    const int more = std::min(have, n - have);
    const int to = (rank + n - have) % n, from = (rank + have) % n;
    for (const Part& range : ranges_of(request, rank, more)) {
      // Nobody waits for the own block to be copied.
      builder.send(to, have == 1 ? input(0) : output(range.offset), range.count);
    }
    for (const Part& range : ranges_of(request, from, more)) {
      builder.recv(from, output(range.offset), range.count);
    }
    if (have == 1)
      builder.copy({.target = output(own.offset), .from = input(0), .count = own.count});
  }
  if (n == 1) return plan_alone(request);
  return std::move(builder).finish();
}

// The last rank's blocks wrap in every round in which it sends more than one.
Cost cost_of_bruck(const PlanRequest& request) {
  if (request.count == 0) return {};
  Cost cost;
  for (int have = 1; have < request.ranks; have *= 2) {
    const int more = std::min(have, request.ranks - have);
    // A block has come as many rounds ago as it takes to gather those that are sent with it.
    const auto rounds = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(more - 1)));
    cost.rounds = std::max(cost.rounds, rounds + 1);
    cost.messages += more > 1 ? 2 : 1;
    cost.count_sent += static_cast<std::size_t>(more) * request.count;
  }
  return cost;
}

}  // namespace paceline
