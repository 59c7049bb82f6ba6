// Which GPU and NIC each rank of a host gets whose CPUs are settled.
#pragma once

#include <vector>

#include "topology/model/host_model.h"

namespace paceline::topology {

/// By local rank, of which `near` says where each is: places in HostModel::gpus, kNone where there
/// are none. No GPU has two ranks more than another; of such choices each rank has a GPU near it
/// as far as they go, in turn. Ranks with fewer GPUs near them choose first.
std::vector<int> spread_gpus(const HostModel& host, const std::vector<CpuSet>& near);

/// By local rank, by choose_nics(): of its GPU's data, or of the first NUMA node's that it is near.
std::vector<int> nics_of_ranks(const HostModel& host, const std::vector<int>& gpus,
                               const std::vector<CpuSet>& near);

}  // namespace paceline::topology
