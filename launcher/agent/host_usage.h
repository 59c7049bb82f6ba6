// How this host is used, by the ranks and by others: CPUs, memory, pressure, disks, network.
#pragma once

#include <string>

#include "telemetry/job/figures.h"

namespace paceline::launcher {

/// All that can be read now. A container may hide some files, and kernels without PSI have no
/// pressure. Disks are those with hardware below them, not partitions and layers. Network
/// interfaces are those with hardware, too. Where none has, as in a container, all count but the
/// loopback interface. Data of RDMA goes past the kernel and is not in it.
/// Tests pass a `root` that is put in front of /proc and /sys.
HostFigures read_host_usage(const std::string& root = "");

}  // namespace paceline::launcher
