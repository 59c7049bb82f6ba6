// Which GPUs of a host a job gets, and in which order its ranks have them.
#pragma once

#include <vector>

#include "topology/model/host_model.h"

namespace paceline::topology {

/// What makes one order of GPUs better than another: the time of an all-reduce of a MB per rank,
/// k ranks on each of several hosts. In the host a reduce-scatter and an all-gather go around the
/// ring of its ranks; between hosts each rank sends its k-th part by its own NIC:
///
///   2 (k-1)/k x the slowest neighbours' time for a MB  +  2/k x until all have sent a MB each
///
/// Without other hosts the second term is not there.
double ring_cost_us(const HostModel& host, const std::vector<int>& gpus, bool crosses_hosts);

/// `count` of the GPUs, at most as many as there are, by local rank. The cheapest of all subsets
/// and orders of up to 8 GPUs. Of more GPUs, one that no exchange of two makes cheaper; a search
/// for a ring without the slowest hops follows, which is bounded. Among equally cheap ones, the
/// lowest numbers come first.
std::vector<int> choose_gpus(const HostModel& host, int count, bool crosses_hosts);

}  // namespace paceline::topology
