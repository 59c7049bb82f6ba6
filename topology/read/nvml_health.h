// Faults of NVIDIA's GPUs that the management library of the driver knows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topology/read/nvml_library.h"

namespace paceline::topology {

/// Facts that the GPU or its driver does not tell are unknown.
struct GpuHealth {
  int number = 0;  ///< as NVML counts, by bus address
  std::string name;
  bool is_lost = false;                       ///< the driver cannot reach it: the rest is unknown
  std::optional<std::uint64_t> clock_limits;  ///< nvml.h's bits of "clocks throttle reasons"
  std::optional<std::uint64_t> uncorrected_errors;      ///< ECC; since the driver was loaded
  std::optional<unsigned> pcie_lanes, most_pcie_lanes;  ///< in use, and the maximum
  unsigned nvlinks = 0;                                 ///< that are up

  bool operator==(const GpuHealth&) const = default;
};

struct GpuHealthReport {
  std::vector<GpuHealth> gpus;  ///< those that this process may see
  int error = 0;                ///< NVML's, if it is there and cannot start; 0: none
};

/// Takes milliseconds, seconds if no other process uses the GPUs, or as long as the driver takes.
GpuHealthReport read_gpu_health(const std::string& library = kNvmlLibrary);

}  // namespace paceline::topology
