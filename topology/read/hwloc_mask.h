// CPU and node sets as hwloc writes them: "0x000000ff,,0x0000000f".
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "comm/base/cpu_set.h"

namespace paceline::topology {

/// Words of 32 bits, the highest first. An endless mask ("0xf...f,0x0") has every bit from `end`
/// on, which only the rest of a machine can bound.
struct HwlocMask {
  CpuSet set;  ///< what is set below `end`
  bool is_endless = false;
  std::size_t end = 0;  ///< bits that the words stand for

  /// With what an endless mask has of `all`.
  CpuSet within(const CpuSet& all) const;
};

/// Nothing where it is no such mask, or one for more than CpuSet::kMostCpus.
std::optional<HwlocMask> parse_hwloc_mask(std::string_view text);

}  // namespace paceline::topology
