// Why a plan is as it is, in sentences.
#pragma once

#include <string>
#include <vector>

#include "topology/cluster/cluster.h"
#include "topology/placement/model/job_shape.h"
#include "topology/placement/model/plan.h"
#include "topology/placement/search/search.h"

namespace paceline::topology {

/// One for each decision that could have been another: which hosts, in which order, how groups lie,
/// the order of GPUs, NICs, servers, and how sure it is.
std::vector<std::string> reasons_for(const Cluster& cluster, const JobShape& job,
                                     const std::vector<int>& slots, const Found& found,
                                     const Plan& plan);

}  // namespace paceline::topology
