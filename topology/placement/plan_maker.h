// A plan out of an arrangement: seats, servers, and what they cost.
#pragma once

#include <paceline/status.h>

#include "topology/placement/model/plan.h"
#include "topology/placement/search/arranger.h"

namespace paceline::topology {

/// Without reasons and alternatives. Errors: no CPU that ranks or servers may use.
Result<Plan> make_plan(HostKinds& kinds, const ServerRules& rules, const Arrangement& arrangement);

}  // namespace paceline::topology
