// The number of ranks on each host of a mapped job, if it depends only on the slots. Pure.
#pragma once

#include <span>
#include <vector>

#include <paceline/status.h>

#include "topology/placement/rules/mapping.h"

namespace paceline::topology {

/// True if the counts depend on the number of units of each host, as with ppr:N:numa and core:SPAN.
/// Then only map_ranks() can compute them.
bool counts_need_machines(const MappingRules& rules);

/// True if hosts are filled in order, one after the other.
bool fills_hosts(const MappingRules& rules);

/// The counts by host; `slots` are the max counts. They equal those of map_ranks() if the rules do
/// not need the machines. Otherwise each host is counted as one unit: no host after the last one
/// with a count can get a rank. Errors: not enough slots, with the numbers.
Result<std::vector<int>> count_by_host(int ranks, std::span<const int> slots,
                                       const MappingRules& rules);

/// The error if there are slots for only `placed` of `ranks` ranks.
Status no_room(int ranks, int placed, const MappingRules& rules);

}  // namespace paceline::topology
