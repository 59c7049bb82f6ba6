// The bandwidth of a PCIe link from what sysfs and NCCL say of it, and back.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace paceline::topology {

/// A value: "16 GT/s" and 16 lanes.
struct PcieLink {
  std::string_view speed;  ///< a word of the kernel that NCCL knows
  int width = 0;

  bool operator==(const PcieLink&) const = default;
};

/// MB/s each way: 15754 of "8.0 GT/s PCIe", "8 GT/s" or "8", and 16 lanes. What encoding takes is
/// off: 8b/10b up to 5 GT/s, 128b/130b up to 32, and the flits' 242 of 256 bytes at 64 (PCI Express
/// Base Specification 6.0, sections 4.2.1 to 4.2.3). Nothing where the speed is not one of these or
/// the width is 0 or more than 32.
std::optional<std::uint64_t> pcie_mb_per_s(std::string_view speed, std::uint64_t width);
/// The link that has this bandwidth, of several the widest of at most 16 lanes; where none has, the
/// fastest that is slower. Nothing below the slowest.
std::optional<PcieLink> pcie_link_of(std::uint64_t mb_per_s);

}  // namespace paceline::topology
