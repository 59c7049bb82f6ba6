// A plan as the agents get it. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/head/head.h"
#include "topology/cluster/cluster.h"
#include "topology/placement/model/plan.h"

namespace paceline::launcher {

/// What a rank is told of its seat, `ranks` being all of its host's, in their order: what it is
/// bound to, and the variables by which programs choose threads and devices:
///
///   OMP_NUM_THREADS        a thread for each core that is its own
///   CUDA_VISIBLE_DEVICES   all GPUs of the host, those of its ranks first, in their order: device
///                          LOCAL_RANK is the rank's (HIP_VISIBLE_DEVICES for AMD's); only where
///                          that is another order than the host's
///   NCCL_IB_HCA            the RDMA ports of the host's ranks, which NCCL wants the same for all
///   UCX_NET_DEVICES        the rank's own
std::vector<messages::RankSeat> seats_of_host(const topology::HostModel& machine,
                                              const std::vector<topology::Seat>& ranks);

/// Gives each agent the ranks that the plan has for the host of its place in the cluster, and their
/// seats. Agents without a rank are taken out, and the one with rank 0 comes first. Without
/// machines in the cluster nobody has a seat.
void follow_plan(const topology::Cluster& cluster, const topology::Plan& plan,
                 std::vector<HostAgent>& agents);

/// "GPU cuda0, NIC mlx5_0"; empty where a seat has neither.
std::string devices_text(const topology::HostModel& machine, const topology::Seat& seat);

}  // namespace paceline::launcher
