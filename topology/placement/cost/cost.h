// What a placement costs: the time of a step's communication, by rounds, bytes and bandwidths.
#pragma once

#include <vector>

#include "topology/cluster/cluster.h"
#include "topology/placement/model/job_shape.h"
#include "topology/placement/model/plan.h"

namespace paceline::topology {

/// The parts of a step, one for each dimension of more than one rank and one for the servers. All
/// groups of a dimension talk at the same time; dimensions one after the other. A part takes
///
///   rounds x the latest message's latency  +  the busiest resource's bytes / its bandwidth
///
/// where an all-reduce of k ranks sends 2(k-1)/k of a buffer along each edge of its ring in 2(k-1)
/// rounds; neighbours send a buffer each way in 2; an all-to-all sends 1/k of it to each other in
/// k-1. Servers get their share of a buffer from each rank and send it back, in 2 rounds: it is the
/// buffer of the dimension that carried_by_servers() names, which has no part of its own then.
///
/// A resource is
///
///   an edge in a host    the path between the two GPUs; without GPUs the memory (machine_paths.h)
///   a host each way      all that leaves (enters) it, by host_links.h
///   a way of two hosts   where somebody measured it
///   a NIC each way       all that its ranks send to (get from) other hosts, by host_links.h
///   a rank each way      the same of one rank: by the path from its GPU to its NIC; without a GPU
///                        by the memory, which what leaves the host goes through as well (not what
///                        goes to servers)
///
/// A rank without a NIC, of a job on several hosts, has the one that choose_nics() gives it among
/// the other such ranks of its host; on a host without NICs only the host's own rate counts. MB
/// are 10^6 bytes, so that a MB by a MB/s is a second. `ranks` are as many as the job has.
std::vector<CostPart> cost_parts(const Cluster& cluster, const JobShape& job,
                                 const std::vector<Placed>& ranks,
                                 const std::vector<PlacedServer>& servers);

}  // namespace paceline::topology
