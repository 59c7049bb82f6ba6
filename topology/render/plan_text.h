// A plan as text.
#pragma once

#include <string>

#include "topology/cluster/cluster.h"
#include "topology/placement/model/plan.h"

namespace paceline::topology {

/// For people: what each host's ranks get, the cost and its parts, reasons, alternatives. Hosts of
/// one machine whose ranks sit alike are told together: "+1" is the rank behind a host's first. No
/// line is longer than 100 columns.
std::string plan_text(const Cluster& cluster, const Plan& plan);
/// For programs, and for `--plan`: hosts, GPUs and NICs by their names, a line for each rank.
/// read_plan() reads it back.
std::string plan_json_text(const Cluster& cluster, const Plan& plan);

}  // namespace paceline::topology
