// Broadcast and all-gather between hosts that each run several ranks: what a host sends does not
// grow with its ranks. It is hierarchical_reduction.h backwards; the words are those of hosts.h.
//
//        hosts of a chunk whose home is D, with 2 owners each:
//
//                              D              D + 1           D - 1
//        the rank that has it ─► owner 0 ─────► owner 0 ─ … ─► owner 0
//                             ─► owner 1 ─────► owner 1 ─ … ─► owner 1
//                                   └► ranks      └► ranks        └► ranks
//
//   1. At home the k-th owner gets the elements of the k-th share from the ranks that have them.
//   2. It sends them to the next host, whose owner passes them on.
//   3. Each owner sends what it has to all other ranks of its host.
//
// A broadcast has one chunk, whose home is the host of the root: a host sends count elements. An
// all-gather has a chunk for each host, and all chunks are under way at the same time: a host sends
// every block but those of one other host, the least that is possible. Where all hosts have as many
// ranks and blocks are equal, a share is the block of its owner, and step 1 is empty.
//
// Shares travel in pieces, each of which moves on as soon as it is there. Elements arrive where
// they belong: no scratch. On hosts of one rank each the broadcast is a chain, and the all-gather a
// ring.
#pragma once

#include "collectives/plan/cost.h"
#include "collectives/plan/plan.h"

namespace paceline {

Plan plan_hierarchical_distribution(const PlanRequest& request);
Cost cost_of_hierarchical_distribution(const PlanRequest& request);

}  // namespace paceline
