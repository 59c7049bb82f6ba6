// What files call the GPUs and NICs of a host, so that each is meant by one name.
#pragma once

#include <string>
#include <vector>

#include "topology/model/host_model.h"

namespace paceline::topology {

/// By place: a device's name; "#2" by its place where it has none, or where others have the same.
std::vector<std::string> gpu_names(const HostModel& host);
std::vector<std::string> nic_names(const HostModel& host);

}  // namespace paceline::topology
