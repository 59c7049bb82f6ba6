// Figures of hosts and GPUs. A figure that cannot be read is unknown, which is not zero. Values.
//
//   HostFigures figures;
//   figures.set(HostFigure::kCpuBusy, 12.5);
//   figures.get(HostFigure::kDiskRead);  // none: it was not set
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline {

/// Of a host. Times are seconds, sizes are bytes. Those that grow do so since the host's boot.
enum class HostFigure : std::uint8_t {
  kCpus,             ///< number of CPUs
  kCpuBusy,          ///< grows: sum over CPUs of the time in which they worked
  kCpuStolen,        ///< grows: the same, in which the hypervisor ran others
  kMemory,           ///< all of it
  kMemoryAvailable,  ///< that programs can get without swapping
  kCpuStalled,       ///< grows: time in which some task waited for a CPU (PSI, "some")
  kMemoryStalled,    ///< grows: for memory
  kIoStalled,        ///< grows: for a disk
  kDiskRead,         ///< grows
  kDiskWritten,      ///< grows
  kReceived,         ///< grows: from the network
  kSent,             ///< grows
};
inline constexpr std::size_t kHostFigures = 12;

/// Of a GPU. Sizes are bytes.
enum class GpuFigure : std::uint8_t {
  kBusy,    ///< share of the last moment in which a kernel ran, 0 to 1
  kMemory,  ///< all of it
  kMemoryUsed,
  kPower,              ///< watts
  kSmClock,            ///< hertz
  kTemperature,        ///< degrees Celsius
  kCorrectedErrors,    ///< grows: ECC errors
  kUncorrectedErrors,  ///< grows
  kClockLimits,        ///< what keeps clocks low: bits, see clock_limit_words()
};
inline constexpr std::size_t kGpuFigures = 9;

template <class Figure, std::size_t kCount>
class Figures {
 public:
  Figures() { values_.fill(std::numeric_limits<double>::quiet_NaN()); }

  std::optional<double> get(Figure figure) const {
    const double value = values_[static_cast<std::size_t>(figure)];
    return std::isnan(value) ? std::nullopt : std::optional(value);
  }
  /// None leaves what there is.
  void set(Figure figure, std::optional<double> value) {
    if (value) values_[static_cast<std::size_t>(figure)] = *value;
  }
  bool is_empty() const {
    for (const double value : values_)
      if (!std::isnan(value)) return false;
    return true;
  }
  bool operator==(const Figures& other) const {
    for (std::size_t i = 0; i < kCount; ++i)
      if (get(static_cast<Figure>(i)) != other.get(static_cast<Figure>(i))) return false;
    return true;
  }

 private:
  std::array<double, kCount> values_;  // not a number: unknown
};

using HostFigures = Figures<HostFigure, kHostFigures>;
using GpuFigures = Figures<GpuFigure, kGpuFigures>;

struct GpuReading {
  int number = 0;  ///< on its host, as NVML counts
  std::string name;
  GpuFigures figures;

  bool operator==(const GpuReading&) const = default;
};

/// A double has each whole number up to this one: 2^53.
inline constexpr double kMostExact = 9007199254740992.0;

/// The bits of GpuFigure::kClockLimits in words: "power", "heat". They are those of nvml.h, "clocks
/// throttle reasons". That a GPU is idle is no such reason.
std::vector<std::string_view> clock_limit_words(double limits);

}  // namespace paceline
