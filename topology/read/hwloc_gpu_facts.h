// What hwloc's OS devices say of a GPU: model, memory, UUID.
#pragma once

#include <vector>

#include "topology/model/host_model.h"
#include "topology/read/hwloc_objects.h"

namespace paceline::topology {

/// The OS devices that an object is or has below it.
std::vector<int> os_devices_of(const HwlocTree& tree, int object);

/// Adds to `gpu` the attributes of its object and OS devices. A memory size that cannot be read
/// becomes a warning.
void add_gpu_facts(const HwlocTree& tree, int object, const std::vector<int>& devices, Gpu& gpu,
                   HostModel& host);

}  // namespace paceline::topology
