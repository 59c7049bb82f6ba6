// Several sources about one host. What they say differently is reported; the first one counts.
#pragma once

#include <paceline/status.h>

#include "topology/model/host_model.h"

namespace paceline::topology {

/// `into` learns from `from` what it does not know, with its source. Devices are the same where
/// their bus ids are; where one side has none, GPUs by their number and NICs by their name. A
/// device that only one of them names is kept, with a warning. What comes of it has been finished
/// (finish.h).

Result<HostModel> merge(HostModel into, const HostModel& from);

}  // namespace paceline::topology
