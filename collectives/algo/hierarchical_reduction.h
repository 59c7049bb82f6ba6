// Reduce and reduce-scatter between hosts that each run several ranks: what a host sends does not
// grow with its ranks. The words are those of hosts.h.
//
//        hosts of a chunk whose home is D, with 2 owners each:
//
//            D + 1           D + 2                D
//        ranks ─► owner 0 ─────► owner 0 ─ … ─► owner 0 ─► the rank that wants it
//        ranks ─► owner 1 ─────► owner 1 ─ … ─► owner 1 ─►
//
//   1. On each host the k-th owner gets the elements of the k-th share from all ranks there.
//   2. It reduces them with the partial result of the host before in one step, and sends the result
//      to the next host. The last one is the home.
//   3. There the owner sends what another rank wants to that rank.
//
// A reduce has one chunk, whose home is the host of the root: a host sends count elements. A
// reduce-scatter has a chunk for each host, and all chunks are under way at the same time: a host
// sends every block but those of its own ranks, the least that is possible. Where all hosts have as
// many ranks and blocks are equal, a share is the block of its owner, and step 3 is empty.
//
// Shares travel in pieces: the next one is gathered while one travels. Chunks take turns after
// kTogether pieces, so that a piece of one host's line does not wait for the previous one to be
// reduced. Scratch is ScratchSlots::kSlots times a piece from each rank of the host. That is as
// many segments at most, unless a segment has fewer elements than the host has ranks.
//
// On hosts of one rank each the reduce is a chain, and the reduce-scatter a ring. The scheme is the
// first half of hierarchical.h.
#pragma once

#include "collectives/plan/cost.h"
#include "collectives/plan/plan.h"

namespace paceline {

Plan plan_hierarchical_reduction(const PlanRequest& request);
Cost cost_of_hierarchical_reduction(const PlanRequest& request);

}  // namespace paceline
