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

/// MB/s in each direction. Example: 15754 for 16 lanes and a speed of "8.0 GT/s PCIe", "8 GT/s" or
/// "8". The overhead of the encoding is subtracted: 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s,
/// and at 64 GT/s flits with 242 of 256 bytes (PCI Express Base Specification 6.0, sections 4.2.1
/// to 4.2.3). Nullopt for any other speed, and for a width of 0 or more than 32.
std::optional<std::uint64_t> pcie_mb_per_s(std::string_view speed, std::uint64_t width);
/// The link with exactly this bandwidth; if there are several, the widest with at most 16 lanes.
/// Nullopt if there is none.
std::optional<PcieLink> pcie_link_of(std::uint64_t mb_per_s);

}  // namespace paceline::topology
