// Where the ranks of a job go: planned by what its hosts are and what the user said, or read from
// the file that he has named.
#pragma once

#include <string>
#include <vector>

#include <paceline/status.h>

#include "launcher/options/job_spec.h"
#include "topology/cluster/cluster.h"
#include "topology/placement/model/plan.h"

namespace paceline::launcher {

/// `slots` by host of the cluster; `plan_text`: of the plan file, where the job has one. Errors say
/// what does not fit. Pure.
Result<topology::Plan> plan_job(const topology::Cluster& cluster, const std::vector<int>& slots,
                                const JobSpec& job, const std::string& plan_text);

/// Ranks in blocks by host, bound to nothing: where nobody knows what the hosts are.
topology::Plan unbound_plan(const std::vector<int>& ranks_by_host);

}  // namespace paceline::launcher
