// From hwloc's objects: GPUs.
#pragma once

#include <string>
#include <vector>

#include <paceline/status.h>

#include "topology/model/host_model.h"
#include "topology/read/hwloc_objects.h"

namespace paceline::topology {

/// The objects that are GPUs, in the file's order: PCI functions or, where hwloc saw none of these,
/// OS devices of one programming interface. The display of a management controller is none.
std::vector<int> find_hwloc_gpus(const HwlocTree& tree);

/// Adds `objects` to `host`, in the order that programs know them by. The object of each, by its
/// place in the host. An error names file, line and reason.
Result<std::vector<int>> add_hwloc_gpus(const HwlocTree& tree, const std::vector<int>& objects,
                                        HostModel& host);

}  // namespace paceline::topology
