#include "topology/read/hwloc_gpu_names.h"

#include <cstddef>

#include "comm/base/text.h"

namespace paceline::topology {

std::optional<GpuName> parse_gpu_name(std::string_view name) {
  for (std::size_t i = 0; i < kGpuInterfaceNames.size(); ++i) {
    if (!name.starts_with(kGpuInterfaceNames[i])) continue;
    const std::string_view numbers = name.substr(kGpuInterfaceNames[i].size());
    const std::size_t dot = numbers.find('.');
    const auto number = parse_number<int>(numbers.substr(0, dot));
    if (!number || *number < 0) continue;
    if (dot != numbers.npos && !parse_number<unsigned>(numbers.substr(dot + 1))) continue;
    return GpuName{.interface = static_cast<GpuInterface>(i),
                   .number = *number,
                   .is_part = dot != numbers.npos};
  }
  return std::nullopt;
}

}  // namespace paceline::topology
