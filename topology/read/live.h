// The machine that this runs on, by all who know something of it.
#pragma once

#include <paceline/status.h>

#include "topology/model/host_model.h"

namespace paceline::topology {

/// hwloc, and where they are there NVML and RDMA devices. What they say differently stands among
/// the warnings.
Result<HostModel> read_this_machine();

}  // namespace paceline::topology
