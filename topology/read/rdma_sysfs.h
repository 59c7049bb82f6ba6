// RDMA devices by sysfs: /sys/class/infiniband, Linux,
// Documentation/ABI/stable/sysfs-class-infiniband.
#pragma once

#include <string>

#include "topology/model/host_model.h"

namespace paceline::topology {

/// The NICs and nothing else; none where there is no such device. `root` stands before /sys.
HostModel read_rdma_devices(const std::string& root = "");

}  // namespace paceline::topology
