#include "topology/read/nvml_health.h"

#include <algorithm>
#include <memory>

#include "comm/base/try.h"
#include "topology/read/bounds.h"

namespace paceline::topology {
namespace {

// Constants of nvml.h.
constexpr unsigned kUncorrectedErrors = 1, kSinceLoaded = 0;

GpuHealth health_of(const NvmlLibrary::Functions& calls, NvmlLibrary::Device gpu, int number) {
  GpuHealth health{.number = number, .name = NvmlLibrary::text(calls.name, gpu).value_or("")};
  health.clock_limits =
      told_by<unsigned long long>([&](auto* value) { return calls.clock_limits(gpu, value); });
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

Result<std::vector<GpuHealth>> read_gpu_health(const std::string& library) {
  PACELINE_TRY_ASSIGN(const std::unique_ptr<NvmlLibrary> nvml, NvmlLibrary::open(library));
  const NvmlLibrary::Functions& calls = nvml->calls();
  std::vector<GpuHealth> all;
  unsigned count = 0;
  if (calls.count(&count) != NvmlLibrary::kSuccess) return all;
  for (unsigned i = 0; i < std::min<unsigned>(count, kMostGpus); ++i) {
    NvmlLibrary::Device gpu = nullptr;
    if (calls.device(i, &gpu) == NvmlLibrary::kSuccess)
      all.push_back(health_of(calls, gpu, static_cast<int>(i)));
  }
  return all;
}

}  // namespace paceline::topology
