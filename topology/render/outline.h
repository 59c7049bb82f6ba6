// What lies in what: host, packages, NUMA nodes, PCIe bridges, devices. What forms of output that
// show the machine as nested boxes walk through.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/model/host_model.h"

namespace paceline::topology {

/// A part of the machine with what lies in it. Bridges are nested as deeply as those of the model.
struct Group {
  enum class Kind : std::uint8_t { kHost, kPackage, kNode, kBridge, kGpu, kNic, kUnplaced };

  Kind kind = Kind::kHost;
  int place = kNone;  ///< in the list of the model that the kind says
  std::vector<Group> inside;
};

/// Packages with their NUMA nodes, each with the host bridges and devices that are near to it; what
/// is near to several nodes lies in their package, or the host. Devices that nobody placed are the
/// host's last group.
Group outline_of(const HostModel& host);
/// The same without host bridges above a single thing: they make no path longer.
Group drawn_outline_of(const HostModel& host);

/// The CPUs that a group tells about; none where the groups in it tell about theirs.
CpuSet told_cpus(const HostModel& host, const Group& group);

}  // namespace paceline::topology
