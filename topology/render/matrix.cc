#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/text.h"
#include "topology/path/path.h"
#include "topology/render/render.h"

namespace paceline::topology {
namespace {

// nvidia-smi knows no word for links that nobody has counted: there is one at least.
std::string cell_text(const HostModel& host, DeviceRef a, DeviceRef b) {
  const Path path = path_between(host, a, b);
  if (path.kind == PathKind::kLoc) return " X ";
  if (path.kind == PathKind::kNvl) return "NV" + std::to_string(std::max(path.links, 1));
  return std::string(word_of(path.kind));
}

std::string column_name(DeviceRef device) {
  return (device.kind == DeviceKind::kGpu ? "GPU" : "NIC") + std::to_string(device.place);
}

std::string or_none(const std::string& text) { return text.empty() ? "N/A" : text; }

// "CPU Affinity", "NUMA Affinity" and "GPU NUMA ID" of a GPU.
std::string place_text(const Gpu& gpu) {
  CpuSet nodes;
  if (gpu.near.is_known())
    for (const int node : gpu.near->numa_nodes)
      if (node >= 0) nodes.add(std::min(static_cast<std::size_t>(node), CpuSet::kMostCpus - 1));
  const std::string cpus = gpu.near.is_known() ? gpu.near->cpus.to_text() : "";
  return or_none(cpus) + "\t" + or_none(nodes.to_text()) + "\tN/A";
}

std::string legend(const HostModel& host) {
  std::string text =
      "\nLegend:\n\n"
      "  X    = the device itself\n"
      "  SYS  = PCIe and the links between NUMA nodes\n"
      "  NODE = PCIe and several host bridges of one NUMA node\n"
      "  PHB  = PCIe and one host bridge\n"
      "  PXB  = several PCIe switches, and no host bridge\n"
      "  PIX  = at most one PCIe switch\n"
      "  NV#  = # links without PCIe; 1 if their number is not known\n";
  if (host.nics.empty()) return text;
  text += "\nNIC Legend:\n\n";
  for (std::size_t i = 0; i < host.nics.size(); ++i)
    text.append("  NIC")
        .append(std::to_string(i))
        .append(": ")
        .append(printable(host.nics[i].name))
        .append("\n");
  return text;
}

}  // namespace

std::string matrix_text(const HostModel& host) {
  std::vector<DeviceRef> devices;
  for (std::size_t i = 0; i < host.gpus.size(); ++i)
    devices.push_back({DeviceKind::kGpu, static_cast<int>(i)});
  for (std::size_t i = 0; i < host.nics.size(); ++i)
    devices.push_back({DeviceKind::kNic, static_cast<int>(i)});
  std::string text;
  for (const DeviceRef device : devices) text.append("\t").append(column_name(device));
  text += "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n";
  for (const DeviceRef row : devices) {
    text += column_name(row);
    for (const DeviceRef column : devices) text.append("\t").append(cell_text(host, row, column));
    if (row.kind == DeviceKind::kGpu)
      text.append("\t").append(place_text(host.gpus[static_cast<std::size_t>(row.place)]));
    text += "\n";
  }
  return text + legend(host);
}

}  // namespace paceline::topology
