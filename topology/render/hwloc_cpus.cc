#include "topology/render/hwloc_cpus.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "comm/base/text.h"
#include "topology/model/at.h"
#include "topology/model/hwloc_words.h"
#include "topology/render/plain_text.h"

namespace paceline::topology {
namespace {

void add_processor(pugi::xml_node object, const Fact<Processor>& processor) {
  if (!processor.is_known()) return;
  add_hwloc_info(object, "CPUVendor", processor->vendor);
  add_hwloc_info(object, "CPUFamilyNumber", std::to_string(processor->family));
  add_hwloc_info(object, "CPUModelNumber", std::to_string(processor->model));
}

// hwloc keeps nodes in sets too: none beyond what sets hold.
CpuSet set_of(const NumaNode& node) {
  CpuSet one;
  if (node.number >= 0 && at(node.number) < CpuSet::kMostCpus) one.add(at(node.number));
  return one;
}

int free_number(const std::vector<NumaNode>& nodes) {
  std::set<int> numbers;
  for (const NumaNode& node : nodes) numbers.insert(node.number);
  int number = 0;
  while (numbers.contains(number)) ++number;
  return number;
}

}  // namespace

pugi::xml_node add_hwloc_object(pugi::xml_node parent, const char* type, int& next) {
  pugi::xml_node object = parent.append_child("object");
  set_attribute(object, "type", type);
  set_attribute(object, "gp_index", std::to_string(next++));
  return object;
}

void set_attribute(pugi::xml_node object, const char* name, const std::string& value) {
  object.append_attribute(name).set_value(value.c_str());
}

void add_hwloc_info(pugi::xml_node object, const char* name, const std::string& value) {
  if (value.empty()) return;
  pugi::xml_node info = object.append_child("info");
  set_attribute(info, "name", name);
  set_attribute(info, "value", printable(value));
}

std::string hwloc_set_text(const CpuSet& numbers) {
  constexpr std::size_t kWordBits = 32;
  std::vector<std::uint32_t> words(1);
  for (const std::size_t number : numbers.cpus()) {
    words.resize(std::max(words.size(), number / kWordBits + 1));
    words[number / kWordBits] |= std::uint32_t{1} << number % kWordBits;
  }
  std::string text;
  for (std::size_t i = words.size(); i-- > 0;) {
    char word[16] = "";
    if (words[i] != 0 || i == 0) std::snprintf(word, sizeof word, "0x%08x", words[i]);
    text.append(word).append(i == 0 ? "" : ",");
  }
  return text;
}

void add_hwloc_core_kinds(const HostModel& host, pugi::xml_node topology) {
  std::map<std::string, CpuSet> kinds;
  for (const Core& core : host.cores)
    if (core.kind.is_known()) kinds[*core.kind].add(core.cpus);
  const std::string capacity = kCapacityWord;
  for (const auto& [kind, cpus] : kinds) {
    pugi::xml_node element = topology.append_child("cpukind");
    set_attribute(element, "cpuset", hwloc_set_text(cpus));
    if (kind.starts_with(capacity))
      add_hwloc_info(element, kLinuxCapacity, kind.substr(capacity.size()));
    else
      add_hwloc_info(element, kCoreType, kind);
  }
}

HwlocCpus::HwlocCpus(const HostModel& host, pugi::xml_node topology, int& next)
    : host_(host), next_(next), usable_(host.cpus) {
  if (usable_.is_empty()) usable_.add(0);
  all_ = usable_;
  all_.add(host.withheld);
  nodes_ = host.numa_nodes;
  int made_up_node = kNone;
  if (cpu_nodes(host).empty()) {
    made_up_node = free_number(nodes_);
    nodes_.push_back({.number = made_up_node, .cpus = all_});
  }
  divide();
  add_machine(topology, made_up_node);
}

// Who has which CPU: the first that claims it, so that objects never overlap.
template <class List>
void HwlocCpus::claim(Level level, const List& list) {
  owner_[level].assign(CpuSet::kMostCpus, kNone);
  for (std::size_t i = 0; i < list.size(); ++i)
    for (const std::size_t cpu : list[i].cpus.cpus())
      if (owner_[level][cpu] == kNone) owner_[level][cpu] = static_cast<int>(i);
}

void HwlocCpus::divide() {
  claim(kPackageLevel, host_.packages);
  claim(kCacheLevel, host_.caches);
  claim(kCoreLevel, host_.cores);
  divide_nodes();
  order_ = caches_hold_nodes() ? std::vector{kPackageLevel, kCacheLevel, kNodeLevel, kCoreLevel}
                               : std::vector{kPackageLevel, kNodeLevel, kCacheLevel, kCoreLevel};
}

// Nodes of ordinary memory divide packages; other memory lies beside that of its CPUs, and what
// belongs to several packages, or to no CPU, belongs to the machine.
void HwlocCpus::divide_nodes() {
  owner_[kNodeLevel].assign(CpuSet::kMostCpus, kNone);
  beside_.resize(nodes_.size());
  for (const bool ordinary : {true, false}) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if ((nodes_[i].kind == MemoryKind::kOrdinary) != ordinary) continue;
      const std::vector<std::size_t> cpus = (nodes_[i].cpus & all_).cpus();
      const auto one = [&](Level level) {
        return std::ranges::all_of(cpus, [&](std::size_t cpu) {
          return owner_[level][cpu] == owner_[level][cpus.front()];
        });
      };
      const bool has_cpus = !cpus.empty() && one(kPackageLevel);
      const int before = has_cpus ? owner_[kNodeLevel][cpus.front()] : kNone;
      if (has_cpus && before != kNone && one(kNodeLevel))
        beside_[at(before)].push_back(i);
      else if (!has_cpus || !ordinary || before != kNone)
        at_machine_.push_back(i);
      else
        for (const std::size_t cpu : cpus)
          if (owner_[kNodeLevel][cpu] == kNone) owner_[kNodeLevel][cpu] = static_cast<int>(i);
    }
  }
}

bool HwlocCpus::caches_hold_nodes() const {
  std::map<int, int> node_of_cache;
  for (const std::size_t cpu : all_.cpus()) {
    const int cache = owner_[kCacheLevel][cpu], node = owner_[kNodeLevel][cpu];
    if (cache == kNone || node == kNone) continue;
    if (node_of_cache.emplace(cache, node).first->second != node) return true;
  }
  return false;
}

void HwlocCpus::add_machine(pugi::xml_node topology, int made_up_node) {
  machine_ = add_hwloc_object(topology, "Machine", next_);
  CpuSet nodes;
  for (const NumaNode& node : nodes_) nodes.add(set_of(node));
  set_attribute(machine_, "os_index", "0");
  set_attributes(machine_, all_, nodes);
  set_attribute(machine_, "allowed_cpuset", hwloc_set_text(usable_));
  set_attribute(machine_, "allowed_nodeset", hwloc_set_text(nodes));
  cpus_at_[machine_] = all_;
  add_words_about_machine(made_up_node);
  of_package_.assign(host_.packages.size(), machine_);
  of_node_.assign(nodes_.size(), machine_);
  of_cache_.resize(host_.caches.size());
  for (const std::size_t node : at_machine_) add_memory(machine_, node, nodes_[node].cpus & all_);
  add_level({machine_, all_}, all_, 0);
  for (std::size_t i = 0; i < host_.packages.size(); ++i)
    if (of_package_[i] == machine_) add_package(machine_, {}, i);
}

void HwlocCpus::add_words_about_machine(int made_up_node) {
  add_hwloc_info(machine_, "DMIProductName", host_.product);
  add_hwloc_info(machine_, "Architecture", host_.architecture);
  add_hwloc_info(machine_, "HostName", host_.name);
  if (host_.packages.empty()) add_processor(machine_, host_.processor);
  if (host_.cpus.is_empty()) add_hwloc_info(machine_, kMadeUpCpu, "0");
  if (made_up_node != kNone) add_hwloc_info(machine_, kMadeUpNode, std::to_string(made_up_node));
}

HwlocCpus::Part HwlocCpus::add_package(pugi::xml_node parent, const CpuSet& cpus,
                                       std::size_t place) {
  Part part = add_object(parent, "Package", cpus);
  set_attribute(part.object, "os_index", std::to_string(host_.packages[place].number));
  add_hwloc_info(part.object, "CPUModel", host_.packages[place].cpu_model);
  add_processor(part.object, host_.processor);
  cpus_at_[part.object] = cpus;
  of_package_[place] = part.object;
  return part;
}

// The CPUs of a part, by who has them on this level; what nobody has goes on to the next one.
void HwlocCpus::add_level(const Part& parent, const CpuSet& cpus, std::size_t depth) {
  if (depth == order_.size()) return add_cpus(parent, cpus);
  std::vector<std::pair<int, CpuSet>> parts;
  std::map<int, std::size_t> known;
  for (const std::size_t cpu : cpus.cpus()) {
    const int owner = owner_[order_[depth]][cpu];
    const auto [found, is_new] = known.emplace(owner, parts.size());
    if (is_new) parts.emplace_back(owner, CpuSet());
    parts[found->second].second.add(cpu);
  }
  for (const auto& [owner, part] : parts) {
    if (owner == kNone)
      add_level(parent, part, depth + 1);
    else
      add_part(parent, part, depth, owner);
  }
}

void HwlocCpus::add_part(const Part& parent, const CpuSet& cpus, std::size_t depth, int place) {
  const bool is_usable = cpus.has_any(usable_);
  Part part = parent;
  switch (order_[depth]) {
    case kPackageLevel:
      part = add_package(parent.object, cpus, at(place));
      break;
    case kNodeLevel:
      // A node that has all of its parent's CPUs is the parent's memory.
      if (cpus != parent.cpus) part = add_object(parent.object, "Group", cpus);
      of_node_[at(place)] = part.object;
      cpus_at_[part.object] = cpus;
      add_memory(part.object, at(place), cpus);
      for (const std::size_t beside : beside_[at(place)]) {
        add_memory(part.object, beside, cpus);
        of_node_[beside] = part.object;
      }
      break;
    case kCacheLevel:
      if (!is_usable) break;
      part = add_cache(parent.object, host_.caches[at(place)], cpus);
      of_cache_[at(place)] = part.object;
      cpus_at_[part.object] = cpus;
      break;
    case kCoreLevel:
      if (!is_usable) return;
      part = add_object(parent.object, "Core", cpus);
      set_attribute(part.object, "os_index", std::to_string(place));
      break;
  }
  add_level(part, cpus, depth + 1);
}

Fact<Place> HwlocCpus::told_at(pugi::xml_node object) const {
  const CpuSet& all = cpus_at_.at(object);
  Place place{.cpus = all & host_.cpus};
  const CpuSet nodes = nodes_of(all);
  for (const NumaNode& node : host_.numa_nodes) {
    const bool is_there = place.cpus.is_empty() ? object == machine_ || nodes.has_any(set_of(node))
                                                : node.cpus.has_any(place.cpus);
    if (is_there && node.kind == MemoryKind::kOrdinary) place.numa_nodes.push_back(node.number);
  }
  if (place == Place()) return {};
  return known(std::move(place));
}

pugi::xml_node HwlocCpus::nearest(const Fact<Place>& near, pugi::xml_node otherwise) const {
  if (!near.is_known() || near->cpus.is_empty()) return otherwise;
  const int cache = owner_[kCacheLevel][near->cpus.first()];
  if (cache == kNone || !host_.caches[at(cache)].cpus.has_all(near->cpus)) return otherwise;
  return of_cache_[at(cache)] ? of_cache_[at(cache)] : otherwise;
}

// hwloc wants the nodes of an object in the order of their numbers.
void HwlocCpus::add_memory(pugi::xml_node parent, std::size_t node, const CpuSet& cpus) {
  const CpuSet number = set_of(nodes_[node]);
  if (number.is_empty()) return;
  const auto is_later = [&](pugi::xml_node other) {
    return std::string_view(other.attribute("type").value()) == "NUMANode" &&
           other.attribute("os_index").as_int() > nodes_[node].number;
  };
  const pugi::xml_node later = parent.find_child(is_later);
  pugi::xml_node memory = add_hwloc_object(parent, "NUMANode", next_);
  if (later) parent.insert_move_before(memory, later);
  memory.append_attribute("os_index").set_value(nodes_[node].number);
  set_attributes(memory, cpus, number);
  set_attribute(memory, "local_memory", std::to_string(nodes_[node].memory_bytes));
  if (nodes_[node].kind == MemoryKind::kHighBandwidth)
    memory.append_attribute("subtype").set_value("HBM");
  if (nodes_[node].kind == MemoryKind::kDevice)
    memory.append_attribute("subtype").set_value("GPUMemory");
}

void HwlocCpus::add_cpus(const Part& parent, const CpuSet& cpus) {
  for (const std::size_t cpu : (cpus & usable_).cpus()) {
    CpuSet one;
    one.add(cpu);
    const Part thread = add_object(parent.object, "PU", one);
    set_attribute(thread.object, "os_index", std::to_string(cpu));
  }
}

// hwloc knows five levels.
HwlocCpus::Part HwlocCpus::add_cache(pugi::xml_node parent, const Cache& cache,
                                     const CpuSet& cpus) {
  const std::string level = std::to_string(std::clamp(cache.level, 1, 5));
  Part part = add_object(parent, ("L" + level + "Cache").c_str(), cpus);
  set_attribute(part.object, "cache_size", std::to_string(cache.bytes));
  set_attribute(part.object, "depth", level);
  set_attribute(part.object, "cache_linesize", "64");
  set_attribute(part.object, "cache_associativity", "0");
  set_attribute(part.object, "cache_type", "0");
  return part;
}

HwlocCpus::Part HwlocCpus::add_object(pugi::xml_node parent, const char* type, const CpuSet& cpus) {
  const pugi::xml_node object = add_hwloc_object(parent, type, next_);
  set_attributes(object, cpus, nodes_of(cpus));
  return {object, cpus};
}

void HwlocCpus::set_attributes(pugi::xml_node object, const CpuSet& cpus,
                               const CpuSet& nodes) const {
  set_attribute(object, "cpuset", hwloc_set_text(cpus & usable_));
  set_attribute(object, "complete_cpuset", hwloc_set_text(cpus));
  set_attribute(object, "nodeset", hwloc_set_text(nodes));
  set_attribute(object, "complete_nodeset", hwloc_set_text(nodes));
}

CpuSet HwlocCpus::nodes_of(const CpuSet& cpus) const {
  CpuSet numbers;
  int before = kNone;
  for (const std::size_t cpu : cpus.cpus()) {
    const int node = owner_[kNodeLevel][cpu];
    if (node == kNone || node == std::exchange(before, node)) continue;
    numbers.add(set_of(nodes_[at(node)]));
    for (const std::size_t beside : beside_[at(node)]) numbers.add(set_of(nodes_[beside]));
  }
  for (const std::size_t node : at_machine_)
    if (!(nodes_[node].cpus & cpus).is_empty()) numbers.add(set_of(nodes_[node]));
  return numbers;
}

}  // namespace paceline::topology
