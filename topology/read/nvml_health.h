// What is wrong with NVIDIA's GPUs, as far as the management library of the driver knows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "topology/read/nvml_library.h"

namespace paceline::topology {

/// Facts that the GPU or its driver does not tell are unknown.
struct GpuHealth {
  int number = 0;  ///< as NVML counts, by bus address
  std::string name;
  std::optional<std::uint64_t> clock_limits;        ///< nvml.h's bits of "clocks throttle reasons"
  std::optional<std::uint64_t> uncorrected_errors;  ///< ECC; since the driver was loaded
  std::optional<unsigned> pcie_lanes, most_pcie_lanes;  ///< now, and of GPU and slot together
  unsigned nvlinks = 0;                                 ///< that are up
};

/// Of all GPUs that can be opened. Takes milliseconds, or as long as the driver takes. Errors as
/// those of NvmlLibrary.
Result<std::vector<GpuHealth>> read_gpu_health(const std::string& library = kNvmlLibrary);

}  // namespace paceline::topology
