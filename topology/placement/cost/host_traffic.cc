#include "topology/placement/cost/host_traffic.h"

#include <algorithm>
#include <cstddef>

namespace paceline::topology {

HostTraffic host_traffic(const std::vector<TrafficPart>& parts, const std::vector<int>& host_of,
                         const std::vector<int>& own) {
  HostTraffic traffic{.ranks = static_cast<int>(own.size()), .parts = {}};
  for (const TrafficPart& part : parts) {
    HostTraffic::Part& edges = traffic.parts.emplace_back();
    edges.out.resize(own.size());
    edges.in.resize(own.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
      const int host = host_of[static_cast<std::size_t>(own[i])];
      for_each_receiver(part, own[i], [&](int peer) {
        if (host_of[static_cast<std::size_t>(peer)] != host) {
          ++edges.out[i];
          return;
        }
        const auto self = static_cast<int>(i);
        const auto other = static_cast<int>(std::ranges::lower_bound(own, peer) - own.begin());
        edges.edges.emplace_back(std::min(self, other), std::max(self, other));
      });
      for_each_sender(part, own[i], [&](int peer) {
        if (host_of[static_cast<std::size_t>(peer)] != host) ++edges.in[i];
      });
    }
    // Both directions of an edge take as long, at the same time: one is enough.
    std::ranges::sort(edges.edges, {},
                      [](const auto& ends) { return std::pair(ends.second, ends.first); });
    edges.edges.erase(std::unique(edges.edges.begin(), edges.edges.end()), edges.edges.end());
  }
  return traffic;
}

}  // namespace paceline::topology
