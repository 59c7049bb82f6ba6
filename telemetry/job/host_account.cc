#include "telemetry/job/host_account.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace paceline {
namespace {

constexpr std::array<FigureRow, kHostFigures> kHostRows = {{
    {"cpus", Kept::kLast},
    {"cpus_busy", Kept::kRate},
    {"cpus_stolen", Kept::kRate},
    {"memory_bytes", Kept::kLast},
    {"memory_available_bytes", Kept::kLeast},
    {"cpu_stalled", Kept::kRate},
    {"memory_stalled", Kept::kRate},
    {"io_stalled", Kept::kRate},
    {"disk_read_bytes_per_s", Kept::kRate},
    {"disk_written_bytes_per_s", Kept::kRate},
    {"received_bytes_per_s", Kept::kRate},
    {"sent_bytes_per_s", Kept::kRate},
}};
constexpr std::array<FigureRow, kGpuFigures> kGpuRows = {{
    {"busy", Kept::kMean},
    {"memory_bytes", Kept::kLast},
    {"memory_used_bytes", Kept::kMost},
    {"power_watts", Kept::kMean},
    {"sm_clock_hertz", Kept::kMean},
    {"temperature_celsius", Kept::kMost},
    {"corrected_errors", Kept::kGrowth},
    {"uncorrected_errors", Kept::kGrowth},
    {"clock_limits", Kept::kBits},
}};

}  // namespace

const FigureRow& row_of(HostFigure figure) { return kHostRows[static_cast<std::size_t>(figure)]; }
const FigureRow& row_of(GpuFigure figure) { return kGpuRows[static_cast<std::size_t>(figure)]; }

// A counter that falls has begun anew, as when a driver is loaded again.
void HostAccount::Course::take(double value) {
  if (count++ == 0) last = least = most = value;
  growth += std::max(0.0, value - last);
  last = value;
  least = std::min(least, value);
  most = std::max(most, value);
  sum += value;
  if (value >= 0 && value <= kMostExact) bits |= static_cast<std::uint64_t>(value);
}

double HostAccount::Course::kept(Kept kept, double seconds) const {
  switch (kept) {
    case Kept::kRate:
      return growth / seconds;
    case Kept::kGrowth:
      return growth;
    case Kept::kMean:
      return sum / static_cast<double>(count);
    case Kept::kLeast:
      return least;
    case Kept::kMost:
      return most;
    case Kept::kLast:
      return last;
    case Kept::kBits:
      return static_cast<double>(bits);
  }
  return last;
}

void HostAccount::begin(std::vector<std::string> hosts) {
  hosts_.clear();
  for (std::string& name : hosts) {
    hosts_.push_back({.name = std::move(name),
                      .latest = {},
                      .first_time = {},
                      .courses = std::vector<Course>(kHostFigures),
                      .gpus = {}});
  }
}

void HostAccount::take(std::size_t host, HostReading reading) {
  if (host >= hosts_.size()) return;
  Host& to = hosts_[host];
  if (!to.latest) to.first_time = reading.time;
  for (std::size_t i = 0; i < kHostFigures; ++i)
    if (const auto value = reading.figures.get(static_cast<HostFigure>(i)))
      to.courses[i].take(*value);
  std::erase_if(reading.gpus, [](const GpuReading& gpu) {
    return gpu.number < 0 || std::cmp_greater_equal(gpu.number, kMostGpus);
  });
  for (const GpuReading& gpu : reading.gpus) {
    const auto number = static_cast<std::size_t>(gpu.number);
    if (to.gpus.size() <= number) to.gpus.resize(number + 1);
    Gpu& known = to.gpus[number];
    known.name = gpu.name;
    known.courses.resize(kGpuFigures);
    for (std::size_t i = 0; i < kGpuFigures; ++i)
      if (const auto value = gpu.figures.get(static_cast<GpuFigure>(i)))
        known.courses[i].take(*value);
  }
  to.latest = std::move(reading);
}

const HostReading* HostAccount::latest(std::size_t host) const {
  return host < hosts_.size() && hosts_[host].latest ? &*hosts_[host].latest : nullptr;
}

std::vector<HostSummary> HostAccount::summaries() const {
  std::vector<HostSummary> summaries;
  for (const Host& host : hosts_) {
    if (!host.latest) continue;
    const double seconds =
        std::chrono::duration<double>(host.latest->time - host.first_time).count();
    HostSummary& summary = summaries.emplace_back();
    summary.host = host.name;
    if (host.latest->clock_error)
      summary.clock_error_s = std::chrono::duration<double>(*host.latest->clock_error).count();
    const auto summarize = [seconds](const std::vector<Course>& courses, auto& figures, auto at) {
      using Figure = decltype(at);
      for (std::size_t i = 0; i < courses.size(); ++i) {
        const Kept kept = row_of(static_cast<Figure>(i)).kept;
        if (courses[i].count > 0 && (kept != Kept::kRate || seconds > 0))
          figures.set(static_cast<Figure>(i), courses[i].kept(kept, seconds));
      }
    };
    summarize(host.courses, summary.figures, HostFigure{});
    for (std::size_t number = 0; number < host.gpus.size(); ++number) {
      GpuReading gpu{
          .number = static_cast<int>(number), .name = host.gpus[number].name, .figures = {}};
      summarize(host.gpus[number].courses, gpu.figures, GpuFigure{});
      if (!gpu.figures.is_empty()) summary.gpus.push_back(std::move(gpu));
    }
  }
  return summaries;
}

}  // namespace paceline
