#include "topology/model/device_names.h"

#include <cstddef>
#include <map>
#include <string_view>

namespace paceline::topology {
namespace {

template <class Device>
std::vector<std::string> names_of(const std::vector<Device>& devices) {
  std::map<std::string_view, int> counts;
  for (const Device& device : devices) ++counts[device.name];
  std::vector<std::string> names;
  for (const Device& device : devices) {
    const std::string& name = device.name;
    const bool is_own = !name.empty() && name.front() != '#' && counts[name] == 1;
    names.push_back(is_own ? name : std::string("#").append(std::to_string(names.size())));
  }
  return names;
}

}  // namespace

std::vector<std::string> gpu_names(const HostModel& host) { return names_of(host.gpus); }
std::vector<std::string> nic_names(const HostModel& host) { return names_of(host.nics); }

}  // namespace paceline::topology
