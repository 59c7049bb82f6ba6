// A plan file, as `--dry-run` writes it and people edit it.
//
//   {"paceline_plan": 1,
//    "ranks": [{"rank": 0, "host": "a", "cpus": "0-3", "numa_nodes": [0], "nic": "mlx5_0",
//               "gpu": {"name": "cuda0", "bus": "0000:07:00.0"}, "why": "..."}],
//    "servers": [{"host": "b", "cpus": "0-7", "share": 1}],
//    "hosts": [{"name": "a", "product": "DGX", "cpus": "0-127", "gpus": 8}]}
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "topology/cluster/cluster.h"
#include "topology/placement/model/plan.h"
#include "topology/read/named_text.h"

namespace paceline::topology {

/// That of 65,536 ranks is no longer.
inline constexpr std::size_t kMostPlanBytes = std::size_t{64} << 20;

/// A rank needs its number and its host; all else may be missing, and servers without shares have
/// the same each. Whether CPUs are shared is seen, not believed. An error names file, line or
/// place, and reason: what is no plan, and what does not fit the cluster (a host, a CPU, a NUMA
/// node, a GPU, a NIC that is not there, a GPU that has another address, a host that is another
/// machine than the plan was made for), naming what the plan says and what is there.
Result<Plan> read_plan(const NamedText& file, const Cluster& cluster);

struct PlanHost {
  std::string name;
  int ranks = 0;
};
/// The hosts that have ranks, as the ranks name them first: for who has to reach them before they
/// can be held against the plan.
Result<std::vector<PlanHost>> read_plan_hosts(const NamedText& file);

}  // namespace paceline::topology
