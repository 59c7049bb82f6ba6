#include "topology/placement/rules/mapping_devices.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "topology/placement/host/nic_choice.h"

namespace paceline::topology {
namespace {

std::vector<int> gpus_near(const HostModel& host, const CpuSet& cpus) {
  std::vector<int> gpus;
  for (std::size_t gpu = 0; gpu < host.gpus.size(); ++gpu) {
    const Fact<Place>& near = host.gpus[gpu].near;
    if (near.is_known() && near->cpus.has_any(cpus)) gpus.push_back(static_cast<int>(gpu));
  }
  return gpus;
}

// Ranks at the same place are near to the same.
std::vector<std::vector<int>> gpus_near_each(const HostModel& host,
                                             const std::vector<CpuSet>& near) {
  std::map<std::string, std::vector<int>> known;
  std::vector<std::vector<int>> each;
  for (const CpuSet& cpus : near) {
    const auto [found, is_new] = known.try_emplace(cpus.to_text());
    if (is_new) found->second = gpus_near(host, cpus);
    each.push_back(found->second);
  }
  return each;
}

// Gives each GPU one rank, as far as there are ranks: first those who are near. Who has got none
// stays in `waiting`.
class Round {
 public:
  Round(std::size_t gpus, std::vector<int>& given) : is_taken_(gpus, false), given_(given) {}

  void give_near(std::vector<std::size_t>& waiting, const std::vector<std::vector<int>>& near) {
    std::erase_if(waiting, [&](std::size_t rank) {
      const auto free = std::ranges::find_if(near[rank], [&](int gpu) { return !is_taken(gpu); });
      if (free == near[rank].end()) return false;
      give(rank, *free);
      return true;
    });
  }

  void give_rest(std::vector<std::size_t>& waiting) {
    auto rank = waiting.begin();
    for (int gpu = 0; gpu < static_cast<int>(is_taken_.size()) && rank != waiting.end(); ++gpu)
      if (!is_taken(gpu)) give(*rank++, gpu);
    waiting.erase(waiting.begin(), rank);
  }

 private:
  bool is_taken(int gpu) const { return is_taken_[static_cast<std::size_t>(gpu)]; }

  void give(std::size_t rank, int gpu) {
    is_taken_[static_cast<std::size_t>(gpu)] = true;
    given_[rank] = gpu;
  }

  std::vector<bool> is_taken_;
  std::vector<int>& given_;
};

}  // namespace

std::vector<int> spread_gpus(const HostModel& host, const std::vector<CpuSet>& near) {
  std::vector<int> given(near.size(), kNone);
  if (host.gpus.empty()) return given;
  const std::vector<std::vector<int>> gpus = gpus_near_each(host, near);
  std::vector<std::size_t> waiting(near.size());
  for (std::size_t rank = 0; rank < waiting.size(); ++rank) waiting[rank] = rank;
  std::ranges::stable_sort(waiting, {}, [&](std::size_t rank) { return gpus[rank].size(); });
  while (!waiting.empty()) {
    Round round(host.gpus.size(), given);
    round.give_near(waiting, gpus);
    round.give_rest(waiting);
  }
  return given;
}

std::vector<int> nics_of_ranks(const HostModel& host, const std::vector<int>& gpus,
                               const std::vector<CpuSet>& near) {
  std::vector<DataPlace> places;
  for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
    DataPlace place{.gpu = gpus[rank]};
    if (place.gpu == kNone)
      if (const std::vector<int> nodes = numa_nodes_of(host, near[rank]); !nodes.empty())
        place.node = nodes.front();
    places.push_back(place);
  }
  return choose_nics(host, places).nics;
}

}  // namespace paceline::topology
