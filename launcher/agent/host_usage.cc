#include "launcher/agent/host_usage.h"

#include <filesystem>
#include <system_error>

#include <unistd.h>

#include "comm/base/read_file.h"
#include "launcher/agent/use_texts.h"

namespace paceline::launcher {
namespace {

bool has_hardware(const std::string& folder) {
  std::error_code unknown;
  return std::filesystem::exists(folder + "/device", unknown);
}

void read_network(const std::string& root, HostFigures& figures) {
  const std::string text = read_file(root + "/proc/net/dev");
  read_interfaces(
      text,
      [&root](const std::string& name) { return has_hardware(root + "/sys/class/net/" + name); },
      figures);
  if (figures.get(HostFigure::kReceived)) return;
  read_interfaces(
      text, [](const std::string& name) { return name != "lo"; }, figures);
}

}  // namespace

HostFigures read_host_usage(const std::string& root) {
  HostFigures figures;
  read_cpu_times(read_file(root + "/proc/stat"), static_cast<double>(::sysconf(_SC_CLK_TCK)),
                 figures);
  read_memory(read_file(root + "/proc/meminfo"), figures);
  const std::string pressure = root + "/proc/pressure/";
  figures.set(HostFigure::kCpuStalled, stalled_seconds(read_file(pressure + "cpu")));
  figures.set(HostFigure::kMemoryStalled, stalled_seconds(read_file(pressure + "memory")));
  figures.set(HostFigure::kIoStalled, stalled_seconds(read_file(pressure + "io")));
  read_disks(
      read_file(root + "/proc/diskstats"),
      [&root](const std::string& name) { return has_hardware(root + "/sys/block/" + name); },
      figures);
  read_network(root, figures);
  return figures;
}

}  // namespace paceline::launcher
