// From hwloc's objects: PCIe bridges, counted as host_model.h says.
#pragma once

#include <vector>

#include "topology/model/host_model.h"
#include "topology/read/hwloc_objects.h"

namespace paceline::topology {

/// Adds the bridges above `objects` (GPUs and NICs) to `host`, a parent before its children. What
/// each is as a PCI function, in the order of `objects`.
std::vector<PciFunction> add_hwloc_bridges(const HwlocTree& tree, const std::vector<int>& objects,
                                           HostModel& host);

}  // namespace paceline::topology
