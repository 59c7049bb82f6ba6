// Better placements by small changes.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/placement/search/arranger.h"

namespace paceline::topology {

/// Changes `loads`, in which all ranks have hosts, as long as that makes it cheaper by
/// HostLoads::cost_us(): two hosts change all their ranks, blocks of ranks change hosts or go where
/// there is room, and the order of hosts is turned around between two blocks. Only what touches a
/// host at a bottleneck is tried. Deterministic; ends when none of it helps, or after `budget`
/// changes of an edge. Returns what is left of the budget.
std::int64_t improve(const Arranger& arranger, HostLoads& loads, std::int64_t budget);

/// The same with what GPUs and servers take too, for a job of few ranks: ranks, two ranks and two
/// hosts change places, and all ranks move on by some, until none of it helps or `budget`
/// arrangements have been looked at.
Arrangement refine(Arranger& arranger, Arrangement arrangement, int budget);

}  // namespace paceline::topology
