// The cheapest placement of all, where there are few enough.
#pragma once

#include <optional>

#include "topology/placement/search/arranger.h"

namespace paceline::topology {

/// How many times a rank is put on a host before the search gives up. 8 ranks on 4 hosts are
/// 87,380.
inline constexpr int kMostPuts = 200000;

/// Branch and bound over the host of each rank, by HostLoads, and over GPUs where that does not
/// decide. What costs no less than `known` is not looked at, but for what has earlier hosts; of
/// hosts that are alike and have no rank yet only the first is. Nothing: it would take more than
/// kMostPuts, which it never does where hosts^1 + ... + hosts^ranks are no more, or the arranger is
/// tired, as hosts with more than 8 GPUs or ranks, and no two alike, can make it.
std::optional<Arrangement> find_cheapest(Arranger& arranger, const Arrangement& known);

}  // namespace paceline::topology
