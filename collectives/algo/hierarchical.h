// All-reduce between hosts that each run several ranks: what a host sends does not grow with its
// ranks.
//
//   1. The array is divided into as many parts as every host has ranks. On each host the k-th rank
//      reduces the k-th part of all ranks there, in their order.
//   2. The k-th ranks of all hosts reduce that part by a ring between hosts (algo/ring.h).
//   3. Each sends its part of the result to the other ranks of its host.
//
// A host sends 2 count (h - 1) / h elements for h hosts, the least that is possible, where a ring
// of all p ranks sends 2 count (p - 1) / p across each border between hosts: with 2 hosts of 2
// ranks 1.5 times as much. All ranks of a host that has as few as any send a share of it. The
// stages overlap by segments: a part travels between hosts as soon as a segment of it is reduced.
//
// The scheme is that of two-level all-reduce (Goyal et al., "Accurate, Large Minibatch SGD", 2017,
// section 4); ranks beyond the fewest on any host contribute and receive, and own no part.
#pragma once

#include "collectives/plan/cost.h"
#include "collectives/plan/plan.h"

namespace paceline {

Plan plan_hierarchical(const PlanRequest& request);
Cost cost_of_hierarchical(const PlanRequest& request);

}  // namespace paceline
