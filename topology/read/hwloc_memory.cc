#include "topology/read/hwloc_memory.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "topology/model/hwloc_words.h"

namespace paceline::topology {
namespace {

using Bandwidths = std::map<std::uint64_t, std::uint64_t>;  // of nodes, by their gp_index

// A NUMA node with what its kind is found by.
struct Found {
  const HwlocObject* object = nullptr;
  NumaNode node;
  std::string_view subtype;
  std::uint64_t mb_per_s = 0;  // 0: nobody said
};

// The largest of those that the element states for different CPUs.
Result<Bandwidths> read_bandwidths(const XmlDocument& document) {
  Bandwidths all;
  for (const pugi::xml_node attribute : document.root().children("memattr")) {
    if (text_of(attribute, "name") != "Bandwidth") continue;
    for (const pugi::xml_node value : attribute.children("memattr_value")) {
      if (text_of(value, "target_obj_type") != "NUMANode") continue;
      PACELINE_TRY_ASSIGN(const auto target, document.number(value, "target_obj_gp_index", 0));
      PACELINE_TRY_ASSIGN(const auto mb_per_s, document.number(value, "value", 0));
      std::uint64_t& best = all[target];
      best = std::max(best, mb_per_s);
    }
  }
  return all;
}

Result<Found> read_node(const XmlDocument& document, const HwlocObject& object,
                        const Bandwidths& bandwidths) {
  if (!object.number) return document.wrong(object.node, "a NUMANode has no os_index");
  if (*object.number >= CpuSet::kMostCpus)
    return document.wrong(
        object.node, "os_index " + std::to_string(*object.number) + " of a NUMANode is too large");
  Found found{.object = &object, .subtype = object.subtype()};
  found.node.number = static_cast<int>(*object.number);
  found.node.cpus = *object.cpus;
  PACELINE_TRY_ASSIGN(found.node.memory_bytes, document.number(object.node, "local_memory", 0));
  PACELINE_TRY_ASSIGN(const auto index, document.number(object.node, "gp_index", 0));
  const auto bandwidth = bandwidths.find(index);
  if (bandwidth != bandwidths.end()) found.mb_per_s = bandwidth->second;
  return found;
}

bool is_device(const Found& found) {
  return found.subtype == "GPUMemory" || gpu_of_memory(*found.object);
}

bool is_slow(const Found& found) {
  return found.subtype == "NVM" || found.subtype.starts_with("CXL");
}

// Half as much again as another with the same CPUs: no two DIMMs differ by so much.
bool is_faster(const Found& a, const Found& b) {
  return b.mb_per_s != 0 && a.mb_per_s / 3 >= b.mb_per_s / 2 && a.mb_per_s > b.mb_per_s;
}

bool is_high_bandwidth(const Found& found) {
  return found.subtype == "MCDRAM" || found.subtype == "HBM";
}

// Has another node of CPUs' memory the same CPUs, and `is_wanted`?
template <class Predicate>
bool has_beside(const std::vector<Found>& all, const Found& found, Predicate is_wanted) {
  return std::ranges::any_of(all, [&](const Found& other) {
    return other.object != found.object && other.node.kind != MemoryKind::kDevice &&
           is_wanted(other) && other.node.cpus == found.node.cpus;
  });
}

// Some machines have high-bandwidth memory and no other: it is their ordinary one.
bool is_high_bandwidth_beside(const std::vector<Found>& all, const Found& found) {
  if (found.node.cpus.is_empty()) return false;
  if (is_high_bandwidth(found))
    return has_beside(all, found, [](const Found& other) { return !is_high_bandwidth(other); });
  return found.subtype.empty() && has_beside(all, found, [&](const Found& other) {
           return !is_slow(other) && is_faster(found, other);
         });
}

void find_kinds(std::vector<Found>& all) {
  for (Found& found : all)
    if (is_device(found)) found.node.kind = MemoryKind::kDevice;
  for (Found& found : all)
    if (found.node.kind != MemoryKind::kDevice && is_high_bandwidth_beside(all, found))
      found.node.kind = MemoryKind::kHighBandwidth;
  // Memory behind that of the CPUs divides them as little.
  for (Found& found : all)
    if (is_slow(found) && has_beside(all, found, [](const Found&) { return true; }))
      found.node.cpus = {};
}

}  // namespace

std::optional<BusId> gpu_of_memory(const HwlocObject& node) {
  if (node.type != HwlocType::kNumaNode) return std::nullopt;
  return parse_bus_id(info_of(node.node, "PCIBusID"));
}

Status add_hwloc_memory(const HwlocTree& tree, HostModel& host) {
  PACELINE_TRY_ASSIGN(const Bandwidths bandwidths, read_bandwidths(tree.document));
  const auto machine = std::ranges::find(tree.objects, HwlocType::kMachine, &HwlocObject::type);
  const auto made_up = parse_number<std::uint64_t>(info_of(machine->node, kMadeUpNode));
  std::vector<Found> all;
  std::set<int> numbers;
  for (const HwlocObject& object : tree.objects) {
    if (object.type != HwlocType::kNumaNode || (made_up && object.number == made_up)) continue;
    PACELINE_TRY_ASSIGN(Found found, read_node(tree.document, object, bandwidths));
    if (!numbers.insert(found.node.number).second)
      return tree.document.wrong(object.node, "there is a second NUMANode with os_index " +
                                                  std::to_string(found.node.number));
    all.push_back(std::move(found));
  }
  find_kinds(all);
  for (Found& found : all) host.numa_nodes.push_back(std::move(found.node));
  if (!all.empty() || made_up) return {};
  if (machine->cpus->is_empty()) return {};
  NumaNode whole{.cpus = *machine->cpus};
  PACELINE_TRY_ASSIGN(whole.memory_bytes, tree.document.number(machine->node, "local_memory", 0));
  host.numa_nodes.push_back(std::move(whole));
  return {};
}

}  // namespace paceline::topology
