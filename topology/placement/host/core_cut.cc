#include "topology/placement/host/core_cut.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "comm/base/text.h"

namespace paceline::topology {
namespace {

// Where nobody has told the cores: two runs of CPUs that are as long, on one NUMA node, are the
// first and the second threads of its cores, as Linux numbers them on most machines. Where they are
// not, nothing is lost.
std::vector<CpuSet> guessed_cores(const CpuSet& node) {
  const std::vector<std::size_t> cpus = node.cpus();
  const std::size_t half = cpus.size() / 2;
  const bool is_two_runs = cpus.size() > 2 && cpus.size() % 2 == 0 &&
                           cpus[half - 1] == cpus[0] + half - 1 &&
                           cpus.back() == cpus[half] + half - 1 && cpus[half] != cpus[0] + half;
  std::vector<CpuSet> cores(is_two_runs ? half : cpus.size());
  for (std::size_t i = 0; i < cpus.size(); ++i) cores[i % cores.size()].add(cpus[i]);
  return cores;
}

// As far as they may be used, in the order of their first CPUs.
std::vector<CpuSet> usable_cores(const HostModel& host, const CpuSet& allowed) {
  std::vector<CpuSet> cores;
  for (const CpuSet& core : all_cores(host)) {
    CpuSet usable = core & allowed;
    if (!usable.is_empty()) cores.push_back(std::move(usable));
  }
  return cores;
}

// Ranks that are near to the same.
struct Group {
  CpuSet place;
  std::vector<std::size_t> ranks;
};

// Those with fewer CPUs first: a cache's before its NUMA node's.
std::vector<Group> groups_of(const std::vector<CpuSet>& places, const CpuSet& allowed) {
  std::vector<Group> groups;
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    const CpuSet near = places[rank] & allowed;
    const CpuSet& place = near.is_empty() ? allowed : near;
    auto found = std::ranges::find(groups, place, &Group::place);
    if (found == groups.end()) found = groups.insert(groups.end(), {.place = place, .ranks = {}});
    found->ranks.push_back(rank);
  }
  std::ranges::stable_sort(groups, {}, [](const Group& group) { return group.place.count(); });
  return groups;
}

class Cut {
 public:
  Cut(std::vector<CpuSet> cores, std::size_t ranks) : cores_(std::move(cores)), shares_(ranks) {}

  // Of a group that lies within a larger one nothing is left for that.
  void give(const Group& group, std::size_t cores_each) {
    std::vector<CpuSet> free;
    for (const CpuSet& core : cores_)
      if (group.place.has_all(core) && !taken_.has_any(core)) free.push_back(core);
    const std::size_t ranks = group.ranks.size();
    if (free.size() < ranks) return share(group);
    for (std::size_t i = 0; i < ranks; ++i) {
      const std::size_t begin = i * free.size() / ranks;
      const std::size_t end = (i + 1) * free.size() / ranks;
      const std::size_t count = cores_each == 0 ? end - begin : std::min(cores_each, end - begin);
      CpuSet& cpus = shares_[group.ranks[i]].cpus;
      for (std::size_t core = begin; core < begin + count; ++core) cpus.add(free[core]);
      taken_.add(cpus);
    }
  }

  // Who has fewer than were asked for gets more, far away if need be.
  void top_up(std::size_t cores_each) {
    for (CoreShare& share : shares_) {
      std::size_t has = share.is_shared ? cores_each : 0;
      for (const CpuSet& core : cores_)
        if (!share.is_shared && share.cpus.has_all(core)) ++has;
      for (const CpuSet& core : cores_) {
        if (has >= cores_each || taken_.has_any(core)) continue;
        share.cpus.add(core);
        taken_.add(core);
        ++has;
      }
    }
  }

  std::vector<CoreShare> finish(const std::vector<CpuSet>& places) {
    for (std::size_t rank = 0; rank < shares_.size(); ++rank)
      shares_[rank].is_near = places[rank].is_empty() || places[rank].has_all(shares_[rank].cpus);
    return std::move(shares_);
  }

 private:
  // All of the place, for all of them.
  void share(const Group& group) {
    for (const std::size_t rank : group.ranks)
      shares_[rank] = {.cpus = group.place, .is_shared = true};
  }

  const std::vector<CpuSet> cores_;
  CpuSet taken_;
  std::vector<CoreShare> shares_;
};

}  // namespace

int count_cores(const std::vector<CpuSet>& cores, const CpuSet& cpus) {
  return static_cast<int>(
      std::ranges::count_if(cores, [&](const CpuSet& core) { return core.has_any(cpus); }));
}

std::string core_kinds_text(const HostModel& host, const CpuSet& cpus) {
  const auto has_kind = [](const Core& core) { return core.kind.is_known(); };
  if (std::ranges::none_of(host.cores, has_kind)) return {};
  std::map<std::string, int> counts;  // of all kinds
  for (const Core& core : host.cores)
    counts[core.kind.value.value_or("other")] += core.cpus.has_any(cpus) ? 1 : 0;
  if (counts.size() < 2) return {};
  std::vector<std::string> words;
  for (const auto& [kind, count] : counts)
    if (count > 0) words.push_back(std::to_string(count) + " " + kind);
  return list_text(words);
}

std::vector<CpuSet> all_cores(const HostModel& host) {
  std::vector<CpuSet> cores;
  for (const Core& core : host.cores) cores.push_back(core.cpus);
  if (!cores.empty()) return cores;
  CpuSet rest = host.cpus;
  for (const NumaNode& node : cpu_nodes(host)) {
    for (CpuSet& core : guessed_cores(node.cpus & rest)) cores.push_back(std::move(core));
    rest.remove(node.cpus);
  }
  for (CpuSet& core : guessed_cores(rest)) cores.push_back(std::move(core));
  return cores;
}

std::vector<CoreShare> cut_cores(const HostModel& host, const CpuSet& allowed,
                                 const std::vector<CpuSet>& places, int cores_each) {
  Cut cut(usable_cores(host, allowed), places.size());
  for (const Group& group : groups_of(places, allowed))
    cut.give(group, static_cast<std::size_t>(std::max(cores_each, 0)));
  cut.top_up(static_cast<std::size_t>(std::max(cores_each, 0)));
  return cut.finish(places);
}

}  // namespace paceline::topology
