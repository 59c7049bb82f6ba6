// How NVIDIA's GPUs are used just now, by the management library of the driver.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "topology/read/nvml_library.h"

namespace paceline::topology {

/// Facts that the GPU or its driver does not tell are unknown.
struct GpuUse {
  int number = 0;  ///< as NVML counts, by bus address
  std::string name, uuid;
  std::optional<double> busy;  ///< share of the last moment in which a kernel ran, 0 to 1
  std::optional<std::uint64_t> memory_bytes, used_bytes;
  std::optional<double> power_watts;
  std::optional<double> sm_clock_hertz;
  std::optional<double> temperature_celsius;
  std::optional<std::uint64_t> clock_limits;  ///< nvml.h's bits of "clocks throttle reasons"
  std::optional<std::uint64_t> corrected_errors, uncorrected_errors;  ///< ECC; in its whole life
};

class GpuMeter {
 public:
  /// Errors as those of NvmlLibrary.
  static Result<std::unique_ptr<GpuMeter>> open(const std::string& library = kNvmlLibrary);

  /// Of all GPUs that can be opened. Takes milliseconds, or as long as the driver takes.
  std::vector<GpuUse> read() const;

 private:
  explicit GpuMeter(std::unique_ptr<NvmlLibrary> nvml) : nvml_(std::move(nvml)) {}

  const std::unique_ptr<NvmlLibrary> nvml_;
};

}  // namespace paceline::topology
