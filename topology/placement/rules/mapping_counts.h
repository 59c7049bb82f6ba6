// How many ranks of a mapped job each host gets, where its slots alone decide. Pure.
#pragma once

#include <span>
#include <vector>

#include <paceline/status.h>

#include "topology/placement/rules/mapping.h"

namespace paceline::topology {

/// Do the counts depend on the machines? They do where the number of a host's units decides:
/// ppr:N:numa, core:SPAN. map_ranks() then knows them alone.
bool counts_need_machines(const MappingRules& rules);

/// Are hosts filled in their order, one after the other, whatever they are?
bool fills_hosts(const MappingRules& rules);

/// By host, `slots` being the most that each may have. The counts of map_ranks() where rules do not
/// need the machines. Where they do, it counts as if each host were a single unit, so that no host
/// after the last one with a count can get a rank. Errors: no room, with the numbers.
Result<std::vector<int>> count_by_host(int ranks, std::span<const int> slots,
                                       const MappingRules& rules);

/// The error of `ranks` of which only `placed` have room.
Status no_room(int ranks, int placed, const MappingRules& rules);

}  // namespace paceline::topology
