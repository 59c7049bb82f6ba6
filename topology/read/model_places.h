// What JSON may say and no model can have: places that lead nowhere, numbers that nobody counts to.
#pragma once

#include <paceline/status.h>

#include "topology/model/host_model.h"
#include "topology/read/json_value.h"

namespace paceline::topology {

/// Of a model that is not finished and was read from `top`. An error names the file and the place:
/// "gpus[3].pci.bridge".
Status check_places(const JsonValue& top, const HostModel& host);

}  // namespace paceline::topology
