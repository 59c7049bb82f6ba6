// Small clusters by lot, and all placements on them that there are: what place() is held against.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "tests/unit/topology/small_cluster.h"
#include "topology/placement/cost/cost.h"
#include "topology/placement/place.h"

namespace paceline::topology {

inline double sum_of(const std::vector<CostPart>& parts) {
  double sum = 0;
  for (const CostPart& part : parts) sum += part.us;
  return sum;
}

/// Each rank on each host that has a slot left, on each of its GPUs. Ranks share GPUs evenly.
class AllPlacements {
 public:
  AllPlacements(const Cluster& cluster, const JobShape& job, const std::vector<int>& slots)
      : cluster_(cluster), job_(job), room_(slots), ranks_(static_cast<std::size_t>(job.ranks)) {
    for (int host = 0; host < static_cast<int>(slots.size()); ++host)
      uses_.emplace_back(machine_of(cluster, host).gpus.size());
    try_rank(0);
  }

  double cheapest_us() const { return cheapest_us_; }
  std::int64_t count() const { return count_; }

 private:
  void try_rank(std::size_t rank) {
    if (rank == ranks_.size()) {
      ++count_;
      if (std::ranges::all_of(uses_, is_even))
        cheapest_us_ = std::min(cheapest_us_, sum_of(cost_parts(cluster_, job_, ranks_, {})));
      return;
    }
    for (std::size_t host = 0; host < room_.size(); ++host) {
      if (room_[host] == 0) continue;
      --room_[host];
      ranks_[rank].host = static_cast<int>(host);
      ranks_[rank].seat.gpu = kNone;
      if (uses_[host].empty()) try_rank(rank + 1);
      for (std::size_t gpu = 0; gpu < uses_[host].size(); ++gpu) {
        ranks_[rank].host = static_cast<int>(host);
        ranks_[rank].seat.gpu = static_cast<int>(gpu);
        ++uses_[host][gpu];
        try_rank(rank + 1);
        --uses_[host][gpu];
      }
      ++room_[host];
    }
  }

  static bool is_even(const std::vector<int>& uses) {
    if (uses.empty()) return true;
    const auto [least, most] = std::ranges::minmax(uses);
    return most - least <= 1;
  }

  const Cluster& cluster_;
  const JobShape& job_;
  std::vector<int> room_;
  std::vector<Placed> ranks_;
  std::vector<std::vector<int>> uses_;  // by host and GPU
  std::int64_t count_ = 0;
  double cheapest_us_ = std::numeric_limits<double>::infinity();
};

struct PlacementCase {
  Cluster cluster;
  JobShape job;
  std::vector<int> slots;
  double placements = 1;  ///< at most
};

inline constexpr const char* kShapes[] = {"dp=", "tp=2,dp=", "tp=2,pp=2,dp=", "ep=", "ep=2,dp=",
                                          "pp=", "dp=2,tp=", "tp=2,cp=2,pp=", "dp="};

/// Of a seed; nothing where the job does not fit.
inline std::optional<PlacementCase> placement_case(std::uint64_t seed) {
  Random random(seed);
  const int hosts = 1 + static_cast<int>(random.below(4));
  PlacementCase one{
      .cluster = random_cluster(random, hosts, random.unit()), .job = {}, .slots = {}};
  one.job.ranks = 1 + static_cast<int>(random.below(8));
  const auto dimensions = parse_dimensions(kShapes[random.below(9)], one.job.ranks);
  if (!dimensions.ok()) return {};
  one.job.dimensions = *dimensions;
  if (random.chance(0.5))
    for (Dimension& dimension : one.job.dimensions)
      dimension.mb_a_step = random.chance(0.3) ? 0.01 : 1 + random.unit() * 3000;
  int room = 0;
  double places = 0;
  for (int host = 0; host < hosts; ++host) {
    one.slots.push_back(static_cast<int>(random.below(6)));
    room += one.slots.back();
    const std::size_t gpus = machine_of(one.cluster, host).gpus.size();
    if (one.slots.back() > 0) places += static_cast<double>(std::max<std::size_t>(gpus, 1));
  }
  if (room < one.job.ranks) return {};
  for (int rank = 0; rank < one.job.ranks; ++rank) one.placements *= places;
  return one;
}

}  // namespace paceline::topology
