// Merges several sources about one host. Contradictions are reported, and the first source counts.
#pragma once

#include <paceline/status.h>

#include "topology/model/host_model.h"

namespace paceline::topology {

/// Adds to `into` what it does not know and `from` does, with its source. Devices are matched by
/// bus id. If a side has no bus ids, GPUs are matched by number and NICs by name. A device that
/// only one side has is kept, with a warning. The result is finished (finish.h).

Result<HostModel> merge(HostModel into, const HostModel& from);

}  // namespace paceline::topology
