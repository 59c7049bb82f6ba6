#include "topology/placement/servers/server_ways.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace paceline::topology {
namespace {

// How many ways from one host to another have a rank at one end and a server at the other.
std::int64_t ways_in_use(const ServerTraffic& traffic) {
  std::int64_t with_ranks = 0, with_servers = 0, with_both = 0;
  for (std::size_t host = 0; host < traffic.ranks.size(); ++host) {
    const bool has_ranks = traffic.ranks[host] > 0, has_servers = traffic.servers[host] > 0;
    with_ranks += has_ranks ? 1 : 0;
    with_servers += has_servers ? 1 : 0;
    with_both += has_ranks && has_servers ? 1 : 0;
  }
  return 2 * (with_ranks * with_servers - with_both) - with_both * (with_both - 1);
}

}  // namespace

ServerWays server_ways(const HostLinks& links, const ServerTraffic& traffic) {
  ServerWays ways{.mb = std::vector<double>(static_cast<std::size_t>(links.ways()))};
  std::int64_t measured = 0;
  for (int way = 0; way < links.ways(); ++way) {
    const auto from = static_cast<std::size_t>(links.way_at(way).from);
    const auto to = static_cast<std::size_t>(links.way_at(way).to);
    const bool pushes = traffic.ranks[from] > 0 && traffic.servers[to] > 0;
    const bool serves = traffic.servers[from] > 0 && traffic.ranks[to] > 0;
    if (from == to || (!pushes && !serves)) continue;
    ++measured;
    ways.mb[static_cast<std::size_t>(way)] =
        traffic.mb *
        (traffic.ranks[from] * traffic.shares[to] + traffic.ranks[to] * traffic.shares[from]);
    ways.latest_us = std::max(ways.latest_us, links.way_latency_us(way));
  }
  if (measured < ways_in_use(traffic))
    ways.latest_us = std::max(ways.latest_us, links.latency_us());
  return ways;
}

}  // namespace paceline::topology
