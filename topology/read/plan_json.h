// A plan file, as `--dry-run` writes it and people edit it.
#pragma once

#include <paceline/status.h>

#include "topology/cluster/cluster.h"
#include "topology/placement/plan.h"
#include "topology/read/named_text.h"

namespace paceline::topology {

/// An error names file, line or place, and reason: what is no plan, and what does not fit the
/// cluster (a host, a CPU, a NUMA node, a GPU, a NIC that is not there, or a GPU that has another
/// address), naming what the plan says and what is there.
Result<Plan> read_plan(const NamedText& file, const Cluster& cluster);

}  // namespace paceline::topology
