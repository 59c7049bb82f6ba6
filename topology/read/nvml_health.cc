#include "topology/read/nvml_health.h"

#include <algorithm>
#include <memory>

#include "topology/read/bounds.h"

namespace paceline::topology {
namespace {

// Constants of nvml.h.
constexpr unsigned kUncorrectedErrors = 1, kSinceLoaded = 0;

GpuHealth health_of(const NvmlLibrary::Functions& calls, NvmlLibrary::Device gpu, int number) {
  GpuHealth health{.number = number, .name = NvmlLibrary::text(calls.name, gpu).value_or("")};
  health.clock_limits = told_by<unsigned long long>([&](auto* value) {
    const int error = calls.clock_limits(gpu, value);
    health.is_lost = error == NvmlLibrary::kGpuIsLost;
    return error;
  });
  health.uncorrected_errors = told_by<unsigned long long>(
      [&](auto* value) { return calls.ecc_errors(gpu, kUncorrectedErrors, kSinceLoaded, value); });
  health.pcie_lanes = told_by<unsigned>([&](auto* value) { return calls.pcie_lanes(gpu, value); });
  health.most_pcie_lanes =
      told_by<unsigned>([&](auto* value) { return calls.most_pcie_lanes(gpu, value); });
  for (unsigned link = 0; link < kMostNvlinks; ++link) {
    const auto up =
        told_by<unsigned>([&](auto* value) { return calls.link_state(gpu, link, value); });
    if (up.value_or(0) != 0) ++health.nvlinks;
  }
  return health;
}

}  // namespace

GpuHealthReport read_gpu_health(const std::string& library) {
  GpuHealthReport report;
  const auto nvml = NvmlLibrary::open(library, &report.error);
  if (!nvml.ok()) return report;
  const NvmlLibrary::Functions& calls = (*nvml)->calls();
  unsigned count = 0;
  report.error = calls.count(&count);
  for (unsigned i = 0; i < std::min<unsigned>(count, kMostGpus); ++i) {
    NvmlLibrary::Device gpu = nullptr;
    const int number = static_cast<int>(i);
    const int error = calls.device(i, &gpu);
    if (error == NvmlLibrary::kSuccess) report.gpus.push_back(health_of(calls, gpu, number));
    if (error != NvmlLibrary::kSuccess && error != NvmlLibrary::kNoPermission)
      report.gpus.push_back({.number = number, .is_lost = true});
  }
  return report;
}

}  // namespace paceline::topology
