#include "topology/placement/rules/mapping_units.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "topology/placement/host/core_cut.h"

namespace paceline::topology {
namespace {

template <class List>
std::vector<CpuSet> cpus_of_each(const List& list) {
  std::vector<CpuSet> sets;
  sets.reserve(list.size());
  for (const auto& one : list) sets.push_back(one.cpus);
  return sets;
}

}  // namespace

std::string_view word_of(Unit unit) {
  constexpr std::array<std::string_view, 9> kWords{
      "hwthread", "core", "l1cache", "l2cache", "l3cache", "numa", "package", "node", "slot"};
  return kWords[static_cast<std::size_t>(unit)];
}

HostUnits::HostUnits(const HostModel& host, const CpuSet& allowed)
    : host_(&host),
      allowed_(allowed & host.cpus),
      numbers_(allowed_.cpus()),
      cores_(all_cores(host)),
      core_of_(owners(cores_)),
      walk_(walk()) {}

// Each CPU is looked at once, however many sets there are.
HostUnits::Owners HostUnits::owners(const std::vector<CpuSet>& sets) const {
  Owners owners(numbers_.size(), kNone);
  CpuSet rest = allowed_;
  for (std::size_t i = 0; i < sets.size() && !rest.is_empty(); ++i) {
    const CpuSet part = sets[i] & rest;
    for (const std::size_t cpu : part.cpus()) {
      const auto place = std::ranges::lower_bound(numbers_, cpu) - numbers_.begin();
      owners[static_cast<std::size_t>(place)] = static_cast<int>(i);
    }
    rest.remove(part);
  }
  return owners;
}

std::vector<int> HostUnits::touched(const Owners& owners, const CpuSet& cpus) const {
  std::vector<int> places;
  for (const std::size_t cpu : (cpus & allowed_).cpus()) {
    const auto place = std::ranges::lower_bound(numbers_, cpu) - numbers_.begin();
    if (const int owner = owners[static_cast<std::size_t>(place)]; owner != kNone)
      places.push_back(owner);
  }
  std::ranges::sort(places);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

int HostUnits::count(Unit core_or_hwthread, const CpuSet& cpus) const {
  if (core_or_hwthread == Unit::kHwthread) return (cpus & allowed_).count();
  return static_cast<int>(touched(core_of_, cpus).size());
}

// The larger comes first, be it the package or the node; each counts by its lowest CPU, whether
// that may be used or not.
std::vector<std::size_t> HostUnits::walk() const {
  std::vector<std::vector<CpuSet>> levels = {cpus_of_each(host_->packages),
                                             cpus_of_each(cpu_nodes(*host_)),
                                             cpus_of_each(host_->caches), cores_};
  if (levels[1].size() < levels[0].size()) std::swap(levels[0], levels[1]);
  std::vector<std::array<std::size_t, 5>> keys(numbers_.size());
  for (std::size_t i = 0; i < numbers_.size(); ++i) keys[i].fill(numbers_[i]);
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const Owners owner = owners(levels[level]);
    for (std::size_t i = 0; i < owner.size(); ++i)
      if (owner[i] != kNone)
        keys[i][level] = levels[level][static_cast<std::size_t>(owner[i])].first();
  }
  std::vector<std::size_t> order(numbers_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return keys[i]; });
  return order;
}

std::vector<CpuSet> HostUnits::in_order(const std::vector<CpuSet>& sets) const {
  const Owners owner = owners(sets);
  std::vector<int> place(sets.size(), kNone);
  std::vector<CpuSet> units;
  for (const std::size_t i : walk_) {
    if (owner[i] == kNone) continue;
    int& unit = place[static_cast<std::size_t>(owner[i])];
    if (unit == kNone) {
      unit = static_cast<int>(units.size());
      units.emplace_back();
    }
    units[static_cast<std::size_t>(unit)].add(numbers_[i]);
  }
  return units;
}

std::vector<CpuSet> HostUnits::caches_of(int level) const {
  std::vector<CpuSet> sets;
  int last = 0;
  for (const Cache& cache : host_->caches) {
    last = std::max(last, cache.level);
    if (cache.level == level) sets.push_back(cache.cpus);
  }
  const bool is_a_cores_own = sets.empty() && level < 3 && (last == 0 || level < last);
  return is_a_cores_own ? cores_ : sets;
}

std::vector<CpuSet> HostUnits::told(Unit unit) const {
  switch (unit) {
    case Unit::kCore:
      return cores_;
    case Unit::kL1:
      return caches_of(1);
    case Unit::kL2:
      return caches_of(2);
    case Unit::kL3:
      return caches_of(3);
    case Unit::kNuma:
      return cpus_of_each(cpu_nodes(*host_));
    case Unit::kPackage:
      return cpus_of_each(host_->packages);
    case Unit::kHwthread:
    case Unit::kNode:
    case Unit::kSlot:
      break;
  }
  return {allowed_};
}

std::vector<CpuSet> HostUnits::of(Unit unit) const {
  if (unit != Unit::kHwthread) return in_order(told(unit));
  std::vector<CpuSet> threads(walk_.size());
  for (std::size_t i = 0; i < walk_.size(); ++i) threads[i].add(numbers_[walk_[i]]);
  return threads;
}

std::string HostUnits::text(Unit unit, const CpuSet& cpus) const {
  if (unit == Unit::kNuma)
    for (const NumaNode& node : host_->numa_nodes)
      if (node.kind == MemoryKind::kOrdinary && node.cpus.has_any(cpus))
        return "NUMA node " + std::to_string(node.number);
  if (unit == Unit::kPackage)
    for (const Package& package : host_->packages)
      if (package.cpus.has_any(cpus)) return "package " + std::to_string(package.number);
  return (cpus.count() == 1 ? "CPU " : "CPUs ") + cpus.to_text();
}

}  // namespace paceline::topology
