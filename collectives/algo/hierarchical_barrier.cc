#include "collectives/algo/hierarchical_barrier.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "collectives/algo/hosts.h"
#include "collectives/plan/builder.h"

namespace paceline {
namespace {

int rounds_between(const Hosts& hosts) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(hosts.count() - 1)));
}

}  // namespace

Plan plan_hierarchical_barrier(const PlanRequest& request) {
  const Hosts hosts(request);
  const HostRank own(hosts, request.rank);
  PlanBuilder builder(request);
  const auto to_others = [&](auto step) {
    for (const int rank : own.ranks)
      if (rank != own.rank) step(rank);
  };
  if (own.index != 0) {
    builder.send(own.ranks.front(), input(0), 0);
    builder.fence();
    builder.recv(own.ranks.front(), output(0), 0);
    return std::move(builder).finish();
  }
  to_others([&](int rank) { builder.recv(rank, output(0), 0); });
  builder.fence();
  for (int distance = 1; distance < hosts.count(); distance *= 2) {
    builder.send(hosts.owner(own.host + distance, 0), input(0), 0);
    builder.recv(hosts.owner(own.host - distance, 0), output(0), 0);
    builder.fence();
  }
  to_others([&](int rank) { builder.send(rank, input(0), 0); });
  return std::move(builder).finish();
}

// The longest chain goes through all rounds between hosts. It has a message more on the host where
// it begins, and one on the host where it ends, if those run several ranks.
Cost cost_of_hierarchical_barrier(const PlanRequest& request) {
  const Hosts hosts(request);
  const int rounds = rounds_between(hosts);
  int ends = 0;
  for (int host = 0; host < hosts.count(); ++host) {
    const int last = (host + (1 << rounds) - 1) % hosts.count();
    ends = std::max(ends, (hosts.ranks_on(host) > 1 ? 1 : 0) + (hosts.ranks_on(last) > 1 ? 1 : 0));
  }
  return {.rounds = static_cast<std::size_t>(rounds + ends),
          .messages = static_cast<std::size_t>(rounds + hosts.most_ranks() - 1)};
}

}  // namespace paceline
