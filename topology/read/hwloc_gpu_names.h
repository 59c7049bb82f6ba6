// What the names of OS devices say of GPUs: cuda0, rsmi4, ze1.0, card2.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace paceline::topology {

/// In the order in which their numbers and names count.
enum class GpuInterface : std::uint8_t { kCuda, kRsmi, kLevelZero, kNvml, kDrm };
inline constexpr std::array<std::string_view, 5> kGpuInterfaceNames = {"cuda", "rsmi", "ze", "nvml",
                                                                       "card"};

struct GpuName {
  GpuInterface interface = GpuInterface::kCuda;
  int number = 0;
  bool is_part = false;  ///< ze1.0

  /// Any display has a DRM card.
  bool is_compute() const { return interface != GpuInterface::kDrm; }
};

/// Nothing where the device is no GPU's, or of an interface that tells nothing of it.
std::optional<GpuName> parse_gpu_name(std::string_view name);

}  // namespace paceline::topology
