// Where the ranks of one host sit: the GPU, NIC, CPUs and memory of each. Pure.
#pragma once

#include <string>
#include <vector>

#include <paceline/status.h>

#include "topology/model/host_model.h"

namespace paceline::topology {

struct SeatRequest {
  int ranks = 1;
  CpuSet cpus;            ///< that they may use; empty: all that the host may
  int cores_each = 0;     ///< 0: all there are, in equal shares
  bool uses_gpus = true;  ///< one each, as far as there are any
  bool crosses_hosts = false;
  std::vector<int> gpus;  ///< by local rank, where they are chosen already; empty: choose_gpus()
};

struct Seat {
  int gpu = kNone;  ///< a place in HostModel::gpus
  int nic = kNone;  ///< a place in HostModel::nics; none: there is no other host, or no NIC
  CpuSet cpus;
  std::vector<int> numa_nodes;  ///< whose memory it is to use: those of its CPUs
  bool shares_cpus = false;     ///< with other ranks of the job
  std::string why;              ///< a sentence for people

  bool operator==(const Seat&) const = default;
};

/// The result is by local rank. Each rank with a GPU gets CPUs and a NIC near the GPU. Ranks
/// without a GPU are spread over the NUMA nodes, in proportion to the cores of each node; ranks
/// with adjacent numbers stay together. On a machine whose CPUs are not known, ranks get none.
/// Errors: the host has none of `cpus`, or fewer cores than are requested.
Result<std::vector<Seat>> seat_ranks(const HostModel& host, const SeatRequest& request);

}  // namespace paceline::topology
