// What the forms of output for people call the parts of a host, and what they tell about them.
// Strangers' text in it is printable().
#pragma once

#include <string>
#include <vector>

#include "topology/model/host_model.h"
#include "topology/render/outline.h"

namespace paceline::topology {

struct Label {
  std::string title;               ///< "GPU 0 cuda0"
  std::vector<std::string> facts;  ///< "80 GiB", "0000:c1:00.0"
};

Label label_of(const HostModel& host, const Group& group);

/// "8 cores, 2 threads each", "2 x L3 32 MiB"; empty where nobody said.
std::vector<std::string> cpu_facts(const HostModel& host, const CpuSet& cpus);

/// "GPU 0"; of a NIC its name, or its address where it has none.
std::string short_name(const HostModel& host, DeviceRef device);

}  // namespace paceline::topology
