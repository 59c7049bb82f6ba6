// From hwloc's objects: the host's names, CPUs, packages, memory, caches and cores.
#pragma once

#include <paceline/status.h>

#include "topology/model/host_model.h"
#include "topology/read/hwloc_objects.h"

namespace paceline::topology {

/// Adds them to `host`. An error names file, line and reason.
Status add_hwloc_cpus(const HwlocTree& tree, HostModel& host);

/// Where `place` of the tree is attached: by the CPUs of the nearest object above it that has any
/// said of it or, where these are none, by its NUMA nodes. Nodes stand in `host` already.
Fact<Place> near_of(const HwlocTree& tree, int place, const HostModel& host);

}  // namespace paceline::topology
