// Which NIC each rank of a host sends by.
#pragma once

#include <vector>

#include "topology/model/host_model.h"

namespace paceline::topology {

/// Where a rank's data lies: on a GPU, or in the memory of a NUMA node.
struct DataPlace {
  int gpu = kNone;   ///< a place in HostModel::gpus
  int node = kNone;  ///< the kernel's number, where there is no GPU; none: nobody knows

  bool operator==(const DataPlace&) const = default;
};

struct NicChoice {
  std::vector<int> nics;  ///< by rank, places in HostModel::nics; kNone where the host has none
  double us_per_mb = 0;   ///< until all have sent a MB each, at the same time
};

/// The NICs that can carry gradients: those that are not known to be down; of them RDMA devices,
/// where there are any.
std::vector<int> usable_nics(const HostModel& host);

/// So that all have sent their MB the soonest: no NIC has more ranks than that takes, and of such
/// choices the one with the nearest paths, of those the first NICs. Ranks have the
/// same NICs in whatever order they stand. Of more than 64 ranks neighbours go together.
NicChoice choose_nics(const HostModel& host, const std::vector<DataPlace>& ranks);

}  // namespace paceline::topology
