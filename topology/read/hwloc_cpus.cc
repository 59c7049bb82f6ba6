#include "topology/read/hwloc_cpus.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "comm/base/try.h"

namespace paceline::topology {
namespace {

const HwlocObject& machine_of(const HwlocTree& tree) {
  return *std::ranges::find(tree.objects, HwlocType::kMachine, &HwlocObject::type);
}

// Version 3 says it of the topology, the others of the machine.
std::string host_info(const HwlocTree& tree, std::string_view name) {
  std::string value = info_of(machine_of(tree).node, name);
  return value.empty() ? info_of(tree.document.root(), name) : value;
}

void add_names(const HwlocTree& tree, HostModel& host) {
  host.name = host_info(tree, "HostName");
  host.architecture = host_info(tree, "Architecture");
  host.product = host_info(tree, "DMIProductName");
  if (host.product.empty()) host.product = host_info(tree, "PlatformModel");
}

// Versions 2 and 3 leave out what is off line or outside of the cgroup, unless they were asked for
// it; version 1 states each apart.
Status add_usable(const HwlocTree& tree, HostModel& host) {
  const HwlocObject& machine = machine_of(tree);
  host.cpus = *machine.cpus;
  for (const char* const limit : {"allowed_cpuset", "online_cpuset"}) {
    PACELINE_TRY_ASSIGN(const auto mask, mask_of(tree.document, machine.node, limit, tree.cpus));
    if (mask) host.cpus = host.cpus & *mask;
  }
  host.withheld = tree.cpus;
  host.withheld.remove(host.cpus);
  return {};
}

Status add_package(const HwlocTree& tree, const HwlocObject& object, HostModel& host) {
  constexpr std::uint64_t kMost = 1U << 30U;
  const std::uint64_t number = object.number.value_or(host.packages.size());
  if (number > kMost)
    return tree.document.wrong(object.node,
                               "os_index " + std::to_string(number) + " of a package is too large");
  host.packages.push_back({.number = static_cast<int>(number),
                           .cpus = *object.cpus,
                           .cpu_model = info_of(object.node, "CPUModel")});
  return {};
}

// Cores share no CPU, so all of them together are no larger than the machine.
Status add_core(const HwlocTree& tree, const HwlocObject& object, CpuSet& seen, HostModel& host) {
  const CpuSet& cpus = *object.cpus;
  if (cpus.is_empty()) return {};
  if (seen.has_any(cpus))
    return tree.document.wrong(object.node, "a core has CPUs of another core");
  seen.add(cpus);
  host.cores.push_back({cpus});
  return {};
}

Status add_caches(const HwlocTree& tree, HostModel& host) {
  int deepest = 0;
  for (const HwlocObject& object : tree.objects)
    if (object.type == HwlocType::kCache) deepest = std::max(deepest, object.cache_depth);
  for (const HwlocObject& object : tree.objects) {
    if (object.type != HwlocType::kCache || object.cache_depth != deepest) continue;
    if (object.cpus->is_empty()) continue;
    Cache cache{.cpus = *object.cpus, .level = std::max(object.cache_depth, 1)};
    PACELINE_TRY_ASSIGN(cache.bytes, tree.document.number(object.node, "cache_size", 0));
    host.caches.push_back(std::move(cache));
  }
  return {};
}

// The nodes of an object without CPUs that may be used: of those, what is CPUs' memory.
std::vector<int> nodes_of(const HwlocTree& tree, const HwlocObject& object, const HostModel& host) {
  std::vector<int> numbers;
  CpuSet known;
  for (const NumaNode& node : host.numa_nodes)
    if (node.kind == MemoryKind::kOrdinary) known.add(static_cast<std::size_t>(node.number));
  const auto nodes = mask_of(tree.document, object.node, "nodeset", known);
  if (!nodes.ok() || !*nodes) return numbers;
  for (const std::size_t node : (**nodes & known).cpus()) numbers.push_back(static_cast<int>(node));
  return numbers;
}

}  // namespace

Fact<Place> near_of(const HwlocTree& tree, int place, const HostModel& host) {
  while (place != kNone && !tree.at(place).cpus) place = tree.at(place).parent;
  if (place == kNone) return {};
  const HwlocObject& object = tree.at(place);
  Place near{.cpus = *object.cpus};
  if (near.cpus.is_empty()) near.numa_nodes = nodes_of(tree, object, host);
  if (near == Place()) return {};
  return {.value = std::move(near), .source = 0};
}

Status add_hwloc_cpus(const HwlocTree& tree, HostModel& host) {
  add_names(tree, host);
  PACELINE_TRY(add_usable(tree, host));
  CpuSet of_cores;
  for (const HwlocObject& object : tree.objects) {
    if (object.type == HwlocType::kPackage) PACELINE_TRY(add_package(tree, object, host));
    if (object.type == HwlocType::kCore) PACELINE_TRY(add_core(tree, object, of_cores, host));
  }
  return add_caches(tree, host);
}

}  // namespace paceline::topology
