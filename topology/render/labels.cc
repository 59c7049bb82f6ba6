#include "topology/render/labels.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "comm/base/text.h"
#include "topology/model/at.h"
#include "topology/model/model_fields.h"
#include "topology/render/plain_text.h"

namespace paceline::topology {
namespace {

std::string_view word_of(NicKind kind) {
  if (kind == NicKind::kUnknown) return "";
  return Words<NicKind>::kAll[static_cast<std::size_t>(kind)];
}

std::string cpus_text(const CpuSet& cpus) {
  return std::string(cpus.count() == 1 ? "CPU " : "CPUs ").append(cpus.to_text());
}

// The address only where the name is another.
void add_pci(const PciFunction& pci, const std::string& name, std::vector<std::string>& facts) {
  if (pci.bus.is_known() && to_text(*pci.bus) != name) facts.push_back(to_text(*pci.bus));
  if (pci.mb_per_s.is_known()) facts.push_back("PCIe " + speed_text(*pci.mb_per_s));
}

void add_cpus(const HostModel& host, const CpuSet& cpus, std::vector<std::string>& facts) {
  if (cpus.is_empty()) return;
  facts.push_back(cpus_text(cpus));
  const CpuSet withheld = cpus & host.withheld;
  if (!withheld.is_empty()) facts.push_back("withheld " + withheld.to_text());
  std::ranges::move(cpu_facts(host, cpus), std::back_inserter(facts));
}

std::string machine_text(const HostModel& host) {
  std::string text = host.name.empty() ? "host" : printable(host.name);
  std::vector<std::string> what;
  for (const std::string& one : {host.product, host.architecture})
    if (!one.empty()) what.push_back(printable(one));
  return what.empty() ? text : text.append(" (").append(joined(what, ", ")).append(")");
}

Label host_label(const HostModel& host, const CpuSet& told) {
  Label label{machine_text(host), {}};
  const auto count = [&](std::size_t number, const char* what) {
    if (number > 0) label.facts.push_back(count_text(number, what));
  };
  count(host.packages.size(), "package");
  count(host.numa_nodes.size(), "NUMA node");
  count(host.cores.size(), "core");
  count(static_cast<std::size_t>(host.cpus.count()), "CPU");
  if (!host.withheld.is_empty())
    label.facts.push_back(std::to_string(host.withheld.count()) + " withheld");
  std::uint64_t memory = 0;
  for (const NumaNode& node : host.numa_nodes)
    if (node.kind != MemoryKind::kDevice) memory += node.memory_bytes;
  if (memory > 0) label.facts.push_back(bytes_text(memory));
  count(host.gpus.size(), "GPU");
  count(host.nics.size(), "NIC");
  add_cpus(host, told, label.facts);
  return label;
}

Label package_label(const HostModel& host, const Package& package, const CpuSet& told) {
  Label label{"package " + std::to_string(package.number), {}};
  if (!package.cpu_model.empty()) label.facts.push_back(printable(package.cpu_model));
  add_cpus(host, told, label.facts);
  return label;
}

Label node_label(const HostModel& host, const NumaNode& node, const CpuSet& told) {
  Label label{"NUMA node " + std::to_string(node.number), {}};
  if (node.memory_bytes > 0) label.facts.push_back(bytes_text(node.memory_bytes));
  if (node.kind == MemoryKind::kHighBandwidth) label.facts.emplace_back("high bandwidth");
  if (node.kind == MemoryKind::kDevice) label.facts.emplace_back("memory of a GPU");
  if (told.is_empty() && !node.cpus.is_empty())
    label.facts.push_back(cpus_text(node.cpus));
  else
    add_cpus(host, told, label.facts);
  return label;
}

Label bridge_label(const Bridge& bridge) {
  Label label{bridge.kind == BridgeKind::kHost ? "host bridge" : "switch", {}};
  if (bridge.bus.is_known()) label.title.append(" ").append(to_text(*bridge.bus));
  if (bridge.mb_per_s.is_known()) label.facts.push_back("PCIe " + speed_text(*bridge.mb_per_s));
  return label;
}

Label gpu_label(const Gpu& gpu) {
  const std::string number = std::to_string(gpu.number);
  Label label{"GPU " + number, {}};
  if (!gpu.name.empty() && gpu.name != "GPU" + number)
    label.title.append(" ").append(printable(gpu.name));
  if (gpu.model.is_known()) label.facts.push_back(printable(*gpu.model));
  if (gpu.memory_bytes.is_known()) label.facts.push_back(bytes_text(*gpu.memory_bytes));
  if (gpu.parts > 1) label.facts.push_back(std::to_string(gpu.parts) + " parts");
  add_pci(gpu.pci, gpu.name, label.facts);
  return label;
}

Label nic_label(const HostModel& host, int place) {
  const Nic& nic = host.nics[at(place)];
  const std::string name = short_name(host, {DeviceKind::kNic, place});
  Label label{"NIC " + name, {}};
  std::string kind(word_of(nic.kind));
  if (nic.rate_mbit.is_known())
    kind.append(kind.empty() ? "" : " ").append(rate_text(*nic.rate_mbit));
  if (!kind.empty()) label.facts.push_back(std::move(kind));
  if (nic.is_up.is_known() && !*nic.is_up) label.facts.emplace_back("down");
  for (const std::string& interface : nic.interfaces)
    if (interface != nic.name) label.facts.push_back(printable(interface));
  add_pci(nic.pci, name, label.facts);
  return label;
}

}  // namespace

Label label_of(const HostModel& host, const Group& group) {
  const CpuSet told = told_cpus(host, group);
  switch (group.kind) {
    case Group::Kind::kHost:
      return host_label(host, told);
    case Group::Kind::kPackage:
      return package_label(host, host.packages[at(group.place)], told);
    case Group::Kind::kNode:
      return node_label(host, host.numa_nodes[at(group.place)], told);
    case Group::Kind::kBridge:
      return bridge_label(host.bridges[at(group.place)]);
    case Group::Kind::kGpu:
      return gpu_label(host.gpus[at(group.place)]);
    case Group::Kind::kNic:
      return nic_label(host, group.place);
    case Group::Kind::kUnplaced:
      break;
  }
  return {"place unknown", {}};
}

std::vector<std::string> cpu_facts(const HostModel& host, const CpuSet& cpus) {
  std::vector<std::string> facts;
  // Each group looks at all cores: no file may make that take minutes, no machine is as large.
  constexpr std::size_t kMostLooks = std::size_t{1} << 22;
  const std::size_t groups = host.packages.size() + host.numa_nodes.size() + 1;
  if (groups * (host.cores.size() + host.caches.size()) > kMostLooks) return facts;
  const auto is_here = [&](const CpuSet& set) { return !set.is_empty() && cpus.has(set.first()); };
  std::size_t cores = 0;
  int fewest = 0, most = 0;
  for (const Core& core : host.cores) {
    if (!is_here(core.cpus)) continue;
    const int threads = core.cpus.count();
    fewest = cores == 0 ? threads : std::min(fewest, threads);
    most = std::max(most, threads);
    ++cores;
  }
  if (cores > 0) {
    std::string text = count_text(cores, "core");
    if (most > 1) {
      text.append(", ");
      if (fewest < most) text.append(std::to_string(fewest)).append(" to ");
      text.append(count_text(static_cast<std::size_t>(most), "thread")).append(" each");
    }
    facts.push_back(std::move(text));
  }
  std::map<std::pair<int, std::uint64_t>, std::size_t> caches;  // how many, by level and size
  for (const Cache& cache : host.caches)
    if (is_here(cache.cpus)) ++caches[{cache.level, cache.bytes}];
  for (const auto& [kind, count] : caches) {
    const auto& [level, bytes] = kind;
    std::string text = count > 1 ? std::to_string(count).append(" x ") : std::string();
    text.append("L").append(std::to_string(level));
    if (bytes > 0) text.append(" ").append(bytes_text(bytes));
    facts.push_back(std::move(text));
  }
  return facts;
}

std::string short_name(const HostModel& host, DeviceRef device) {
  if (device.kind == DeviceKind::kGpu) return "GPU " + std::to_string(device.place);
  const Nic& nic = host.nics[at(device.place)];
  if (!nic.name.empty()) return printable(nic.name);
  return nic.pci.bus.is_known() ? to_text(*nic.pci.bus) : std::to_string(device.place);
}

}  // namespace paceline::topology
