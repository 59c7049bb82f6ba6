// The placement: which host, GPU, NIC, CPUs and memory each rank and server of a job gets. Pure.
#pragma once

#include <vector>

#include <paceline/status.h>

#include "topology/cluster/cluster.h"
#include "topology/placement/model/job_shape.h"
#include "topology/placement/model/plan.h"

namespace paceline::topology {

/// The cheapest by cost.h of all that give no host more than its `slots`, one for each host of the
/// cluster: exactly where the search can look at all (exact_search.h; 8 ranks on 4 hosts always),
/// which the plan's reasons say, else by improvement of good beginnings, and never dearer than
/// ranks in their order over hosts in theirs. Of equally cheap ones that with the earliest hosts
/// first. Ranks of a host share a GPU only where it has fewer than ranks, and then evenly.
///
/// Servers get shares as server_split.h says, and of several on a host each as much. Plans for a
/// job on several hosts have NICs. Errors name what does not fit: ranks, cores, servers, hosts for
/// servers. Threads: any.
Result<Plan> place(const Cluster& cluster, const JobShape& job, const std::vector<int>& slots);

}  // namespace paceline::topology
