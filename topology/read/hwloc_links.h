// From hwloc's matrices of bandwidths: links between GPUs.
#pragma once

#include <vector>

#include <paceline/status.h>

#include "topology/model/host_model.h"
#include "topology/read/hwloc_objects.h"

namespace paceline::topology {

/// Adds them to `host`; `gpus` are the objects of its GPUs, by their places. Matrices of hops and
/// of latencies are left alone. An error names file, line and reason.
Status add_hwloc_links(const HwlocTree& tree, const std::vector<int>& gpus, HostModel& host);

}  // namespace paceline::topology
