// What the name of a NIC tells, where nobody says more.
#pragma once

#include <string_view>

#include "topology/model/host_model.h"

namespace paceline::topology {

/// Sets kind and has_rdma, and interfaces where the name is an interface's. Whatever is not known
/// to be a plain network interface counts as having RDMA, since lists of NICs that GPUs use
/// seldom name others. mlx5_0 may be InfiniBand or RoCE: its kind stays unknown.
void take_name(Nic& nic, std::string_view name);

}  // namespace paceline::topology
