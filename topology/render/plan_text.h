// A plan as text.
#pragma once

#include <string>

#include "topology/cluster/cluster.h"
#include "topology/placement/plan.h"

namespace paceline::topology {

/// For people: what each host's ranks get, the cost and its parts, reasons, alternatives. Hosts
/// whose ranks sit alike are told together.
std::string plan_text(const Cluster& cluster, const Plan& plan);
/// For programs, and for `--plan`: hosts, GPUs and NICs by their names. read_plan() reads it back.
std::string plan_json_text(const Cluster& cluster, const Plan& plan);

}  // namespace paceline::topology
