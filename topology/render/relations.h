// What forms of output for people tell about devices and each other: links, and the nearest NICs.
#pragma once

#include <string>
#include <vector>

#include "topology/model/host_model.h"

namespace paceline::topology {

/// "NVLink, all pairs x12", or what the links of these pairs are.
struct LinkGroup {
  std::string what;                ///< "NVLink x2"
  std::vector<std::string> pairs;  ///< "0-1", "2-package 0"; none: `what` tells it all
  LinkEnd end = LinkEnd::kGpu;
};
std::vector<LinkGroup> link_groups(const HostModel& host);

/// By GPU and GPU: the number of links of a pair, "+" if it is not known, empty if there is none.
std::vector<std::vector<std::string>> link_cells(const HostModel& host);

/// Which NICs are nearest to GPUs that lie side by side and have the same ones.
struct NearestNics {
  int first_gpu = 0, last_gpu = 0;
  std::string nics;  ///< "mlx5_0", "mlx5_0, mlx5_1 and 2 more"
  std::string path;  ///< "PIX, 31.5 GB/s"
};
/// Empty where there are no GPUs, no NICs, or more of them than anybody would read.
std::vector<NearestNics> nearest_nics(const HostModel& host);

}  // namespace paceline::topology
