// Which host and unit each rank of a mapped job gets.
#pragma once

#include <string>
#include <vector>

#include <paceline/status.h>

#include "topology/cluster/cluster.h"
#include "topology/placement/rules/mapping.h"
#include "topology/placement/rules/mapping_units.h"

namespace paceline::topology {

/// A host with the ranks that are mapped to it.
struct MappedHost {
  int host = 0;  ///< a place in Cluster::hosts
  HostUnits units;
  std::vector<CpuSet> places;  ///< the units that ranks are mapped by; of slots and nodes all CPUs
  std::vector<int> ranks;      ///< in the order of mapping: which place each is at
};

/// Those that have any of the `ranks`, in the cluster's order. By rules.map_by, or by `map_by`
/// where that is not stated. Errors: a host of which no such unit is known; no room, with numbers.
Result<std::vector<MappedHost>> map_to_units(const Cluster& cluster, int ranks,
                                             const std::vector<int>& slots,
                                             const MappingRules& rules, Unit map_by);

/// Nobody has told the host's units of this kind, by which ranks were to be `treated`: "mapped".
Status unknown_unit(const Cluster& cluster, int host, Unit unit, const std::string& treated);

}  // namespace paceline::topology
