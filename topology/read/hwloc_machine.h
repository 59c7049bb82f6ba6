// This machine, or a folder with the /sys and /proc of another, as hwloc sees it.
//
//   Result<HostModel> host = read_live_machine();
//   Result<HostModel> other = read_sysfs_tree("/tmp/node17");  // of hwloc-gather-topology
//
// hwloc can be told what to read, and to be quiet, by environment variables only. They are set
// while it reads, and are then as before: no other thread may use the environment meanwhile.
#pragma once

#include <string>

#include <paceline/status.h>

#include "topology/model/host_model.h"

namespace paceline::topology {

/// With what is withheld from this process by control groups.
Result<HostModel> read_live_machine();

/// `root` has sys/devices/system/cpu below it. An error says what it lacks.
Result<HostModel> read_sysfs_tree(const std::string& root);

}  // namespace paceline::topology
