// What a placement costs: the time of a step's communication, by rounds, bytes and bandwidths.
#pragma once

#include <vector>

#include "topology/cluster/cluster.h"
#include "topology/placement/job_shape.h"
#include "topology/placement/plan.h"

namespace paceline::topology {

/// The parts of a step, one for each dimension of more than one rank and one for the servers. All
/// groups of a dimension talk at the same time; dimensions one after the other. A part takes
///
///   rounds x the latest message's latency  +  the busiest resource's bytes / its bandwidth
///
/// where a resource is the path between two ranks of a host, a NIC each way, a host each way, or a
/// way between two hosts, and an all-reduce of k ranks sends 2(k-1)/k of a buffer along each edge
/// of its ring in 2(k-1) rounds; neighbours send a buffer each way in 2; an all-to-all sends 1/k of
/// it to each other in k-1; servers get their share of a buffer from each rank and send it back.
std::vector<CostPart> cost_parts(const Cluster& cluster, const JobShape& job,
                                 const std::vector<Placed>& ranks,
                                 const std::vector<PlacedServer>& servers);

}  // namespace paceline::topology
