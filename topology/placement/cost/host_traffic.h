// What the ranks of one host send to each other, and how much of theirs leaves it.
#pragma once

#include <compare>
#include <utility>
#include <vector>

#include "topology/placement/cost/traffic.h"

namespace paceline::topology {

/// A value; equal for hosts whose ranks talk alike. Ranks are counted from 0 in the host.
struct HostTraffic {
  struct Part {
    std::vector<std::pair<int, int>> edges;  ///< lower, higher; ascending by the higher
    std::vector<int> out, in;                ///< by rank: edges to and from other hosts

    auto operator<=>(const Part&) const = default;
  };

  int ranks = 0;
  std::vector<Part> parts;

  auto operator<=>(const HostTraffic&) const = default;
};

/// `own` are the ranks of `host`, ascending.
HostTraffic host_traffic(const std::vector<TrafficPart>& parts, const std::vector<int>& host_of,
                         const std::vector<int>& own);

}  // namespace paceline::topology
