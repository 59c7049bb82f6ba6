#include "topology/read/nvml_use.h"

#include <algorithm>
#include <utility>

#include "comm/base/try.h"
#include "topology/read/bounds.h"

namespace paceline::topology {
namespace {

// Constants of nvml.h.
constexpr unsigned kSmClock = 1, kGpuSensor = 0;
constexpr unsigned kCorrected = 0, kUncorrected = 1, kWholeLife = 1;

constexpr double kWattsPerMilliwatt = 1e-3, kHertzPerMegahertz = 1e6;

std::optional<double> scaled(std::optional<unsigned> value, double by) {
  return value ? std::optional(by * *value) : std::nullopt;
}

GpuUse use_of(const NvmlLibrary::Functions& calls, NvmlLibrary::Device gpu, int number) {
  GpuUse use{.number = number,
             .name = NvmlLibrary::text(calls.name, gpu).value_or(""),
             .uuid = NvmlLibrary::text(calls.uuid, gpu).value_or("")};
  const auto busy =
      told_by<NvmlLibrary::Utilization>([&](auto* value) { return calls.utilization(gpu, value); });
  if (busy) use.busy = std::min(busy->gpu, 100U) / 100.0;
  const auto memory =
      told_by<NvmlLibrary::Memory>([&](auto* value) { return calls.memory(gpu, value); });
  if (memory) use.memory_bytes = memory->total;
  if (memory) use.used_bytes = memory->used;
  use.power_watts = scaled(told_by<unsigned>([&](auto* value) { return calls.power(gpu, value); }),
                           kWattsPerMilliwatt);
  use.sm_clock_hertz =
      scaled(told_by<unsigned>([&](auto* value) { return calls.clock(gpu, kSmClock, value); }),
             kHertzPerMegahertz);
  use.temperature_celsius = scaled(
      told_by<unsigned>([&](auto* value) { return calls.temperature(gpu, kGpuSensor, value); }), 1);
  use.clock_limits =
      told_by<unsigned long long>([&](auto* value) { return calls.clock_limits(gpu, value); });
  const auto errors = [&](unsigned kind) {
    return told_by<unsigned long long>(
        [&](auto* value) { return calls.ecc_errors(gpu, kind, kWholeLife, value); });
  };
  use.corrected_errors = errors(kCorrected);
  use.uncorrected_errors = errors(kUncorrected);
  return use;
}

}  // namespace

Result<std::unique_ptr<GpuMeter>> GpuMeter::open(const std::string& library) {
  PACELINE_TRY_ASSIGN(auto nvml, NvmlLibrary::open(library));
  return std::unique_ptr<GpuMeter>(new GpuMeter(std::move(nvml)));
}

std::vector<GpuUse> GpuMeter::read() const {
  const NvmlLibrary::Functions& calls = nvml_->calls();
  std::vector<GpuUse> uses;
  unsigned count = 0;
  if (calls.count(&count) != NvmlLibrary::kSuccess) return uses;
  for (unsigned i = 0; i < std::min<unsigned>(count, kMostGpus); ++i) {
    NvmlLibrary::Device gpu = nullptr;
    if (calls.device(i, &gpu) == NvmlLibrary::kSuccess)
      uses.push_back(use_of(calls, gpu, static_cast<int>(i)));
  }
  return uses;
}

}  // namespace paceline::topology
