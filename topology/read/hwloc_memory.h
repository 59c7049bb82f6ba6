// From hwloc's objects: NUMA nodes, and what kind of memory they are.
#pragma once

#include <optional>

#include <paceline/status.h>

#include "topology/model/bus_id.h"
#include "topology/model/host_model.h"
#include "topology/read/hwloc_objects.h"

namespace paceline::topology {

/// Adds them to `host`. A machine of version 1 may have none: then all of it is one node. An error
/// names file, line and reason.
Status add_hwloc_memory(const HwlocTree& tree, HostModel& host);

/// The PCI address of the GPU whose memory a NUMA node is, where its object says so.
std::optional<BusId> gpu_of_memory(const HwlocObject& node);

}  // namespace paceline::topology
