#include "topology/read/hwloc_cpus.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "topology/model/hwloc_words.h"

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

// hwloc states it of x86 only, for each package or, where there are none, for the machine.
Fact<Processor> processor_of(pugi::xml_node node) {
  const std::string vendor = info_of(node, "CPUVendor");
  const auto family = parse_number<int>(info_of(node, "CPUFamilyNumber"));
  const auto model = parse_number<int>(info_of(node, "CPUModelNumber"));
  if (vendor.empty() || !family || !model || *family < 0 || *model < 0) return {};
  return known(Processor{.vendor = vendor, .family = *family, .model = *model});
}

void add_processor(const HwlocTree& tree, HostModel& host) {
  for (const HwlocObject& object : tree.objects)
    if (object.type == HwlocType::kPackage && !host.processor.is_known())
      host.processor = processor_of(object.node);
  if (!host.processor.is_known()) host.processor = processor_of(machine_of(tree).node);
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

std::string kind_of(pugi::xml_node element) {
  std::string kind = info_of(element, kCoreType);
  if (!kind.empty()) return kind;
  const std::string capacity = info_of(element, kLinuxCapacity);
  return capacity.empty() ? "" : kCapacityWord + capacity;
}

// A host whose cores are all alike has no kinds, or one.
Status add_kinds(const HwlocTree& tree, HostModel& host) {
  constexpr std::size_t kMostKinds = 64;
  std::size_t count = 0;
  for (const pugi::xml_node element : tree.document.root().children("cpukind")) {
    if (++count > kMostKinds) return {};
    PACELINE_TRY_ASSIGN(const auto cpus, mask_of(tree.document, element, "cpuset", tree.cpus));
    const std::string kind = kind_of(element);
    if (!cpus || kind.empty()) continue;
    for (Core& core : host.cores)
      if (cpus->has_any(core.cpus)) core.kind = known(kind);
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

// What a file of this project says about an object whose position does not tell it.
std::optional<Fact<Place>> stated_near(pugi::xml_node node) {
  const std::string text = info_of(node, kNearCpus);
  if (text == kNearUnknown) return Fact<Place>();
  const auto cpus = CpuSet::parse(text), nodes = CpuSet::parse(info_of(node, kNearNodes));
  if (!cpus || !nodes || (cpus->is_empty() && nodes->is_empty())) return std::nullopt;
  Place near{.cpus = *cpus};
  for (const std::size_t one : nodes->cpus()) near.numa_nodes.push_back(static_cast<int>(one));
  return known(std::move(near));
}

}  // namespace

Fact<Place> near_of(const HwlocTree& tree, int place, const HostModel& host) {
  for (; place != kNone && !tree.at(place).cpus; place = tree.at(place).parent)
    if (auto stated = stated_near(tree.at(place).node)) return *std::move(stated);
  if (place == kNone) return {};
  const HwlocObject& object = tree.at(place);
  Place near{.cpus = *object.cpus};
  if (near.cpus.is_empty()) near.numa_nodes = nodes_of(tree, object, host);
  if (near == Place()) return {};
  return {.value = std::move(near), .source = 0};
}

Status add_hwloc_cpus(const HwlocTree& tree, HostModel& host) {
  add_names(tree, host);
  add_processor(tree, host);
  PACELINE_TRY(add_usable(tree, host));
  CpuSet of_cores;
  for (const HwlocObject& object : tree.objects) {
    if (object.type == HwlocType::kPackage) PACELINE_TRY(add_package(tree, object, host));
    if (object.type == HwlocType::kCore) PACELINE_TRY(add_core(tree, object, of_cores, host));
  }
  PACELINE_TRY(add_kinds(tree, host));
  return add_caches(tree, host);
}

}  // namespace paceline::topology
