#include "launcher/agent/use_texts.h"

#include <cstddef>
#include <vector>

#include "comm/base/cgroup.h"
#include "comm/base/text.h"

namespace paceline::launcher {
namespace {

constexpr double kBytesPerKib = 1024;
constexpr double kBytesPerSector = 512;  // in /proc/diskstats, whatever the disk has
constexpr double kUsPerSecond = 1e6;
// In /proc/stat: user, nice, system, irq and softirq. Guests are part of user.
constexpr std::size_t kBusyTimes[] = {1, 2, 3, 6, 7};

// Calls `use` with the words of each line.
void for_each_line(std::string_view text,
                   FunctionRef<void(const std::vector<std::string_view>&)> use) {
  for (const std::string_view line : split_words(text, '\n'))
    if (const auto words = split_words(line, ' '); !words.empty()) use(words);
}

std::optional<double> number_at(const std::vector<std::string_view>& words, std::size_t at) {
  if (at >= words.size()) return std::nullopt;
  const auto number = parse_number<std::uint64_t>(words[at]);
  return number ? std::optional(static_cast<double>(*number)) : std::nullopt;
}

// A sum of what is known.
void add(std::optional<double>& sum, std::optional<double> more) {
  if (more) sum = sum.value_or(0) + *more;
}

}  // namespace

// cpu  user nice system idle iowait irq softirq steal guest guest_nice
void read_cpu_times(std::string_view proc_stat, double ticks_per_s, HostFigures& figures) {
  double cpus = 0;
  for_each_line(proc_stat, [&](const std::vector<std::string_view>& words) {
    if (!words[0].starts_with("cpu")) return;
    if (words[0] != "cpu") {
      ++cpus;
      return;
    }
    std::optional<double> busy;
    for (const std::size_t at : kBusyTimes) add(busy, number_at(words, at));
    if (busy) figures.set(HostFigure::kCpuBusy, *busy / ticks_per_s);
    if (const auto stolen = number_at(words, 8))
      figures.set(HostFigure::kCpuStolen, *stolen / ticks_per_s);
  });
  if (cpus > 0) figures.set(HostFigure::kCpus, cpus);
}

void read_memory(std::string_view meminfo, HostFigures& figures) {
  for_each_line(meminfo, [&](const std::vector<std::string_view>& words) {
    const auto kib = number_at(words, 1);
    if (!kib) return;
    if (words[0] == "MemTotal:") figures.set(HostFigure::kMemory, *kib * kBytesPerKib);
    if (words[0] == "MemAvailable:") figures.set(HostFigure::kMemoryAvailable, *kib * kBytesPerKib);
  });
}

// some avg10=0.00 avg60=0.00 avg300=0.00 total=12345, in microseconds.
std::optional<double> stalled_seconds(std::string_view pressure) {
  std::optional<double> seconds;
  for_each_line(pressure, [&seconds](const std::vector<std::string_view>& words) {
    constexpr std::string_view kTotal = "total=";
    if (words[0] != "some" || !words.back().starts_with(kTotal)) return;
    if (const auto us = parse_number<std::uint64_t>(words.back().substr(kTotal.size())))
      seconds = static_cast<double>(*us) / kUsPerSecond;
  });
  return seconds;
}

// major minor name reads merged sectors ms writes merged sectors …
void read_disks(std::string_view diskstats, FunctionRef<bool(const std::string&)> is_disk,
                HostFigures& figures) {
  std::optional<double> read, written;
  for_each_line(diskstats, [&](const std::vector<std::string_view>& words) {
    if (words.size() < 10 || !is_disk(std::string(words[2]))) return;
    add(read, number_at(words, 5));
    add(written, number_at(words, 9));
  });
  if (read) figures.set(HostFigure::kDiskRead, *read * kBytesPerSector);
  if (written) figures.set(HostFigure::kDiskWritten, *written * kBytesPerSector);
}

// name: bytes packets errs drop fifo frame compressed multicast, then the same that was sent. The
// number may follow the colon at once.
void read_interfaces(std::string_view net_dev, FunctionRef<bool(const std::string&)> is_counted,
                     HostFigures& figures) {
  std::optional<double> received, sent;
  for (const std::string_view line : split_words(net_dev, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == line.npos || !is_counted(std::string(trimmed(line.substr(0, colon), " "))))
      continue;
    const auto words = split_words(line.substr(colon + 1), ' ');
    add(received, number_at(words, 0));
    add(sent, number_at(words, 8));
  }
  figures.set(HostFigure::kReceived, received);
  figures.set(HostFigure::kSent, sent);
}

void read_process_io(std::string_view io, HostFigures& figures) {
  for_each_line(io, [&](const std::vector<std::string_view>& words) {
    if (words[0] == "read_bytes:") figures.set(HostFigure::kDiskRead, number_at(words, 1));
    if (words[0] == "write_bytes:") figures.set(HostFigure::kDiskWritten, number_at(words, 1));
  });
}

}  // namespace paceline::launcher
