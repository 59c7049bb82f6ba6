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

struct PlanInputs {
  std::vector<int> slots;  ///< by host of the cluster
  /// By host, the ranks of each program; empty unless programs have hosts of their own.
  std::vector<std::vector<int>> by_program{};
};

/// `plan_text`: of the plan file, where the job has one. Errors say what does not fit. Pure.
Result<topology::Plan> plan_job(const topology::Cluster& cluster, const PlanInputs& inputs,
                                const JobSpec& job, const std::string& plan_text);

/// The same places, given to the ranks of each program on its hosts: host by host, or in turn if
/// the mapping does so. Costs and reasons are not changed. Without programs: the plan itself.
topology::Plan with_programs(topology::Plan plan, const std::vector<std::vector<int>>& by_program,
                             const PlacementSpec& said);

/// Ranks in blocks by host, bound to nothing: where nobody knows what the hosts are.
topology::Plan unbound_plan(const std::vector<int>& ranks_by_host);

}  // namespace paceline::launcher
