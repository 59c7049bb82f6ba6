// The placement: which host, GPU, NIC, CPUs and memory each rank and server of a job gets. Pure.
#pragma once

#include <vector>

#include <paceline/status.h>

#include "topology/cluster/cluster.h"
#include "topology/placement/job_shape.h"
#include "topology/placement/plan.h"

namespace paceline::topology {

/// The cheapest by cost.h of all that give no host more than its `slots` (by host; their sum is at
/// least the job's ranks): exactly where there are few ways to do it, else by improvement of a
/// good beginning. Of equally cheap ones that with the earliest hosts first. Errors name what does
/// not fit: ranks, cores, servers, hosts for servers.
Result<Plan> place(const Cluster& cluster, const JobShape& job, const std::vector<int>& slots);

}  // namespace paceline::topology
