// PCI IDs of those who make GPUs and NICs, and of the displays of management controllers.
#pragma once

#include <cstdint>

namespace paceline::topology {

inline constexpr std::uint16_t kAmd = 0x1002, kIntel = 0x8086, kNvidia = 0x10de;
inline constexpr std::uint16_t kAmazon = 0x1d0f, kCray = 0x17db, kMellanox = 0x15b3;
inline constexpr std::uint16_t kAspeed = 0x1a03, kMatrox = 0x102b;

/// An Elastic Fabric Adapter.
constexpr bool is_efa(unsigned vendor, unsigned device) {
  return vendor == kAmazon && (device & 0xfff0) == 0xefa0;
}

}  // namespace paceline::topology
