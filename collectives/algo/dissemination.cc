#include "collectives/algo/dissemination.h"

#include <bit>
#include <cstdint>
#include <utility>

#include "collectives/plan/builder.h"

namespace paceline {

Plan plan_dissemination(const PlanRequest& request) {
  const std::int64_t ranks = request.ranks;
  const auto around = [&](std::int64_t rank) { return static_cast<int>((rank + ranks) % ranks); };
  PlanBuilder builder(request);
  for (std::int64_t distance = 1; distance < ranks; distance *= 2) {
    builder.send(around(request.rank + distance), input(0), 0);
    builder.recv(around(request.rank - distance), output(0), 0);
    builder.fence();
  }
  return std::move(builder).finish();
}

Cost cost_of_dissemination(const PlanRequest& request) {
  const unsigned last = static_cast<unsigned>(request.ranks - 1);
  const std::size_t rounds = static_cast<std::size_t>(std::bit_width(last));
  return {.rounds = rounds, .messages = rounds, .count_sent = 0, .count_reduced = 0};
}

}  // namespace paceline
