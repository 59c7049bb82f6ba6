#include "launcher/control/host_use.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "comm/base/text.h"

namespace paceline::launcher {
namespace {

namespace v1 = job::v1;

// Sets a field of `to`, if the figure is known.
template <class Message, class Value>
void put(std::optional<double> figure, Message& to, void (Message::*set)(Value)) {
  constexpr auto kMost = static_cast<double>(std::numeric_limits<Value>::max() / 2);
  if (figure) (to.*set)(static_cast<Value>(std::min(*figure, kMost)));
}

v1::Gpu gpu_of(const GpuReading& reading) {
  v1::Gpu gpu;
  gpu.set_number(static_cast<std::uint32_t>(reading.number));
  gpu.set_name(printable(reading.name));
  const GpuFigures& from = reading.figures;
  put(from.get(GpuFigure::kBusy), gpu, &v1::Gpu::set_busy_ratio);
  put(from.get(GpuFigure::kMemory), gpu, &v1::Gpu::set_memory_bytes);
  put(from.get(GpuFigure::kMemoryUsed), gpu, &v1::Gpu::set_used_memory_bytes);
  put(from.get(GpuFigure::kPower), gpu, &v1::Gpu::set_power_watts);
  put(from.get(GpuFigure::kSmClock), gpu, &v1::Gpu::set_sm_clock_hertz);
  put(from.get(GpuFigure::kTemperature), gpu, &v1::Gpu::set_temperature_celsius);
  put(from.get(GpuFigure::kCorrectedErrors), gpu, &v1::Gpu::set_corrected_errors);
  put(from.get(GpuFigure::kUncorrectedErrors), gpu, &v1::Gpu::set_uncorrected_errors);
  for (const std::string_view words :
       clock_limit_words(from.get(GpuFigure::kClockLimits).value_or(0)))
    gpu.add_clock_limits(std::string(words));
  return gpu;
}

// Fields that v1::HostUse and v1::Work have with the same names.
template <class Message>
void put_shared(const HostFigures& from, Message& to) {
  put(from.get(HostFigure::kCpuStalled), to, &Message::set_cpu_stalled_seconds);
  put(from.get(HostFigure::kMemoryStalled), to, &Message::set_memory_stalled_seconds);
  put(from.get(HostFigure::kIoStalled), to, &Message::set_io_stalled_seconds);
  put(from.get(HostFigure::kDiskRead), to, &Message::set_read_bytes);
  put(from.get(HostFigure::kDiskWritten), to, &Message::set_written_bytes);
}

}  // namespace

void add_use(const HostReading& reading, v1::Host& host) {
  v1::HostUse& use = *host.mutable_use();
  const HostFigures& from = reading.figures;
  put(from.get(HostFigure::kCpus), use, &v1::HostUse::set_cpus);
  put(from.get(HostFigure::kCpuBusy), use, &v1::HostUse::set_cpu_seconds);
  put(from.get(HostFigure::kCpuStolen), use, &v1::HostUse::set_stolen_cpu_seconds);
  put(from.get(HostFigure::kMemory), use, &v1::HostUse::set_memory_bytes);
  put(from.get(HostFigure::kMemoryAvailable), use, &v1::HostUse::set_available_memory_bytes);
  put(from.get(HostFigure::kReceived), use, &v1::HostUse::set_received_bytes);
  put(from.get(HostFigure::kSent), use, &v1::HostUse::set_sent_bytes);
  use.set_time_seconds(std::chrono::duration<double>(reading.time).count());
  put_shared(from, use);
  for (const GpuReading& gpu : reading.gpus) *host.add_gpus() = gpu_of(gpu);
  if (reading.clock_error)
    host.set_clock_error_seconds(std::chrono::duration<double>(*reading.clock_error).count());
}

void add_use(const HostFigures& figures, v1::Work& work) { put_shared(figures, work); }

}  // namespace paceline::launcher
