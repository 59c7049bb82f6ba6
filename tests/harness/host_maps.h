// Which ranks share a host, as PlanRequest::hosts has it: sets of maps to prove plans on.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/base/random.h"

namespace paceline::testing {

using HostNumbers = std::vector<int>;  // by rank

/// Ranks in the order of their hosts; `counts` are those of each host.
HostNumbers hosts_with(const std::vector<int>& counts);
/// All of `least` to `most` hosts with 1 to `ranks` ranks each.
std::vector<HostNumbers> equal_maps(int least, int most, int ranks);
/// All of as many hosts that have one of two different counts, each of both at least once.
std::vector<HostNumbers> maps_of_two_counts(int least, int most, int ranks);
/// 2 to 8 hosts with 1 to 8 ranks each, in any order of ranks.
HostNumbers random_map(Random& random);

}  // namespace paceline::testing
