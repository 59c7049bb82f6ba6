#include "topology/placement/rules/mapping_hosts.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>

#include "comm/base/try.h"
#include "topology/model/at.h"
#include "topology/placement/rules/mapping_counts.h"

namespace paceline::topology {
namespace {

Result<MappedHost> without_ranks(const Cluster& cluster, int host, Unit map_by) {
  MappedHost mapped{.host = host, .units = {machine_of(cluster, host), cpus_of(cluster, host)}};
  mapped.places = map_by == Unit::kNode || map_by == Unit::kSlot
                      ? std::vector<CpuSet>{mapped.units.cpus()}
                      : mapped.units.of(map_by);
  if (!mapped.places.empty()) return mapped;
  return unknown_unit(cluster, host, map_by, "mapped");
}

// Host after host: of each unit one rank, and again, until there are no more slots; with
// ppr:N:unit N of each unit.
Result<std::vector<MappedHost>> map_host_by_host(const Cluster& cluster, int ranks,
                                                 const std::vector<int>& slots, Unit map_by,
                                                 int ranks_per_unit) {
  std::vector<MappedHost> hosts;
  for (std::size_t host = 0; host < slots.size() && ranks > 0; ++host) {
    if (slots[host] <= 0) continue;
    PACELINE_TRY_ASSIGN(MappedHost mapped, without_ranks(cluster, static_cast<int>(host), map_by));
    const int places = static_cast<int>(mapped.places.size());
    for (int i = 0; i < slots[host] && ranks > 0; ++i) {
      const int place = ranks_per_unit > 0 ? i / ranks_per_unit : i % places;
      if (place >= places) break;
      mapped.ranks.push_back(place);
      --ranks;
    }
    hosts.push_back(std::move(mapped));
  }
  return hosts;
}

// One rank for each unit of all hosts, and again, none for a host without slots left. In a host its
// units then have its ranks in turn, as host by host.
Result<std::vector<MappedHost>> map_across_hosts(const Cluster& cluster, int ranks,
                                                 const std::vector<int>& slots, Unit map_by) {
  std::vector<MappedHost> hosts;
  std::vector<int> left;  // slots, by mapped host
  for (std::size_t host = 0; host < slots.size(); ++host) {
    if (slots[host] <= 0) continue;
    PACELINE_TRY_ASSIGN(MappedHost mapped, without_ranks(cluster, static_cast<int>(host), map_by));
    hosts.push_back(std::move(mapped));
    left.push_back(slots[host]);
  }
  std::vector<std::size_t> open(hosts.size());
  std::iota(open.begin(), open.end(), std::size_t{0});
  while (ranks > 0 && !open.empty()) {
    for (const std::size_t i : open) {
      const int units = static_cast<int>(hosts[i].places.size());
      const int more = std::min({units, left[i], ranks});
      for (int j = 0; j < more; ++j)
        hosts[i].ranks.push_back(static_cast<int>(hosts[i].ranks.size()) % units);
      left[i] -= more;
      ranks -= more;
    }
    std::erase_if(open, [&](std::size_t i) { return left[i] == 0; });
  }
  return hosts;
}

}  // namespace

Result<std::vector<MappedHost>> map_to_units(const Cluster& cluster, int ranks,
                                             const std::vector<int>& slots,
                                             const MappingRules& rules, Unit map_by) {
  const bool is_host_by_host = fills_hosts(rules) || rules.ranks_per_unit > 0;
  PACELINE_TRY_ASSIGN(std::vector<MappedHost> hosts,
                      is_host_by_host
                          ? map_host_by_host(cluster, ranks, slots, map_by, rules.ranks_per_unit)
                          : map_across_hosts(cluster, ranks, slots, map_by));
  int placed = 0;
  for (const MappedHost& mapped : hosts) placed += static_cast<int>(mapped.ranks.size());
  if (placed < ranks) return no_room(ranks, placed, rules);
  std::erase_if(hosts, [](const MappedHost& mapped) { return mapped.ranks.empty(); });
  return hosts;
}

Status unknown_unit(const Cluster& cluster, int host, Unit unit, const std::string& treated) {
  return {Code::kUnavailable, Scope::kOperation,
          "host " + cluster.hosts[at(host)].name + ": no " + std::string(word_of(unit)) +
              " is known, so ranks cannot be " + treated + " by it"};
}

}  // namespace paceline::topology
