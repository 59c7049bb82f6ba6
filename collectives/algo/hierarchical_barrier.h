// Barrier between hosts that each run several ranks: one rank of each host sends messages to other
// hosts. The words are those of hosts.h.
//
//   1. Each rank tells the first owner of its host that it has come.
//   2. The first owners of all hosts tell each other by dissemination (dissemination.h).
//   3. Each tells the other ranks of its host.
//
// Rounds ceil(log2 h) for h hosts, and two on the hosts, where dissemination has ceil(log2 p) for p
// ranks, all of which wait for messages between hosts.
#pragma once

#include "collectives/plan/cost.h"
#include "collectives/plan/plan.h"

namespace paceline {

Plan plan_hierarchical_barrier(const PlanRequest& request);
Cost cost_of_hierarchical_barrier(const PlanRequest& request);

}  // namespace paceline
