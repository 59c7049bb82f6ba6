#include "topology/cluster/cluster.h"

#include <algorithm>
#include <utility>

namespace paceline::topology {

std::unordered_map<std::string_view, int> places_by_name(const Cluster& cluster) {
  std::unordered_map<std::string_view, int> places;
  for (const ClusterHost& host : cluster.hosts)
    places.emplace(host.name, static_cast<int>(places.size()));
  return places;
}

Cluster with_hosts(const Cluster& cluster, const std::vector<int>& places) {
  Cluster some{.machines = cluster.machines, .hosts = {}, .ways = {}, .network = cluster.network};
  std::vector<int> place_of(cluster.hosts.size(), kNone);
  for (const int place : places) {
    place_of[static_cast<std::size_t>(place)] = static_cast<int>(some.hosts.size());
    some.hosts.push_back(cluster.hosts[static_cast<std::size_t>(place)]);
  }
  for (HostWay way : cluster.ways) {
    way.from = place_of[static_cast<std::size_t>(way.from)];
    way.to = place_of[static_cast<std::size_t>(way.to)];
    if (way.from != kNone && way.to != kNone) some.ways.push_back(way);
  }
  std::ranges::sort(some.ways, {}, [](const HostWay& way) { return std::pair(way.from, way.to); });
  return some;
}

}  // namespace paceline::topology
