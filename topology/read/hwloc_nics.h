// From hwloc's objects: NICs.
#pragma once

#include <vector>

#include <paceline/status.h>

#include "topology/model/host_model.h"
#include "topology/read/hwloc_objects.h"

namespace paceline::topology {

/// The PCI functions that are NICs, in the file's order: with an OS device of a network or of
/// OpenFabrics or, without any OS device, by their PCI class.
std::vector<int> find_hwloc_nics(const HwlocTree& tree);

/// Adds `objects` to `host`, in their order. An error names file, line and reason.
Status add_hwloc_nics(const HwlocTree& tree, const std::vector<int>& objects, HostModel& host);

}  // namespace paceline::topology
