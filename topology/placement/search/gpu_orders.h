// Which GPUs the ranks of a host get, and in which order, for what they send.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/placement/cost/host_traffic.h"
#include "topology/placement/search/host_kinds.h"
#include "topology/placement/search/host_loads.h"

namespace paceline::topology {

struct GpuOrder {
  std::vector<int> gpus;        ///< by local rank; empty: the host has none
  std::vector<PartTime> parts;  ///< what edges in the host, its NICs and the ways to them take
};

/// None of them is better than another in every part; the earliest GPUs first.
struct GpuOrders {
  std::vector<GpuOrder> orders;
  bool is_all = true;  ///< what is not there is no better; else it was looked for only so long
};

/// All orders of 8 of 8 GPUs are 109,600 steps.
inline constexpr int kMostOrderSteps = 120000;

/// Each rank gets a GPU of its own as far as there are enough; else each GPU as many ranks as any
/// other, or one less. All are tried, or as many as take at most `most_steps`; beyond that two
/// GPUs are exchanged as long as that helps, in about as much time. Counts the steps in `steps`.
GpuOrders find_gpu_orders(HostKinds& kinds, int host, const std::vector<TrafficPart>& parts,
                          const HostTraffic& traffic, int most_steps, std::int64_t& steps);

/// Ranks 0, 1, 2... on GPUs 0, 1, 2..., or in blocks where there are fewer GPUs.
std::vector<int> gpus_in_order(int gpus, int ranks);

}  // namespace paceline::topology
