// What it costs to have ranks on these hosts, with the GPUs that are the best for it.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "topology/placement/search/gpu_orders.h"
#include "topology/placement/search/host_kinds.h"
#include "topology/placement/search/host_loads.h"
#include "topology/placement/servers/server_rules.h"

namespace paceline::topology {

/// Which host and which GPU each rank gets.
struct Arrangement {
  std::vector<int> host_of;            ///< by rank
  std::vector<std::vector<int>> gpus;  ///< by host, of its ranks; empty where it has none
  double cost_us = 0;                  ///< by cost.h, but for servers only nearly so
  bool is_exact = true;                ///< no other GPUs are better
};

class Arranger {
 public:
  /// How many steps may go into orders of GPUs and their combinations, over all arrangements: about
  /// a second. Then each gets little more than what it begins with.
  static constexpr std::int64_t kMostSteps = 3000000;

  /// The references outlive it. `slots` by host.
  Arranger(HostKinds& kinds, const ServerRules& servers, const std::vector<int>& slots);

  const std::vector<TrafficPart>& parts() const { return parts_; }
  const std::vector<int>& slots() const { return slots_; }
  const ServerRules& servers() const { return servers_; }
  const HostLinks& links() const { return kinds_.links(); }
  const JobShape& job() const { return kinds_.job(); }
  int ranks() const { return job().ranks; }
  int hosts() const { return links().hosts(); }

  /// Is a host in every way as good as the other, but for ways that somebody measured?
  bool is_alike(int a, int b) const;

  HostLoads no_loads() const { return {parts_, kinds_.links(), floors_, ranks()}; }
  HostLoads loads(const std::vector<int>& host_of) const;
  bool is_tired() const { return steps_ > kMostSteps; }
  /// Of `loads` with all ranks on hosts.
  Arrangement arrange(const HostLoads& loads);
  Arrangement arrange(const std::vector<int>& host_of) { return arrange(loads(host_of)); }

 private:
  const GpuOrders& orders_of(int host, const std::vector<int>& host_of,
                             const std::vector<int>& own);

  HostKinds& kinds_;
  const ServerRules& servers_;
  const std::vector<int> slots_;
  const std::vector<TrafficPart> parts_;
  std::vector<HostFloor> floors_;                            // by host
  std::map<std::pair<int, HostTraffic>, GpuOrders> orders_;  // by kind of host
  std::int64_t steps_ = 0;
};

}  // namespace paceline::topology
