// The machine that this runs on, by all who know something of it.
#pragma once

#include <paceline/status.h>

#include "topology/model/host_model.h"

namespace paceline::topology {

/// Reads hwloc, and NVML and RDMA devices if there are any. Contradictions between them become
/// warnings.
Result<HostModel> read_this_machine();

}  // namespace paceline::topology
