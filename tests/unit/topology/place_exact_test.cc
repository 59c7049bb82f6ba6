// place() against all placements there are, by cost_parts() alone.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/topology/small_cluster.h"
#include "topology/placement/cost.h"
#include "topology/placement/place.h"
#include "topology/placement/search.h"

namespace paceline::topology {
namespace {

double sum_of(const std::vector<CostPart>& parts) {
  double sum = 0;
  for (const CostPart& part : parts) sum += part.us;
  return sum;
}

// Each rank on each host that has a slot left, on each of its GPUs. Ranks share GPUs evenly.
class AllPlacements {
 public:
  AllPlacements(const Cluster& cluster, const JobShape& job, const std::vector<int>& slots)
      : cluster_(cluster), job_(job), room_(slots), ranks_(static_cast<std::size_t>(job.ranks)) {
    for (int host = 0; host < static_cast<int>(slots.size()); ++host)
      uses_.emplace_back(machine_of(cluster, host).gpus.size());
    try_rank(0);
  }

  double cheapest_us() const { return cheapest_us_; }

 private:
  void try_rank(std::size_t rank) {
    if (rank == ranks_.size()) {
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
  double cheapest_us_ = std::numeric_limits<double>::infinity();
};

struct Case {
  Cluster cluster;
  JobShape job;
  std::vector<int> slots;
  double placements = 1;  // at most
};

constexpr const char* kShapes[] = {"dp=", "tp=2,dp=", "tp=2,pp=2,dp=", "ep=", "ep=2,dp=",
                                   "pp=", "dp=2,tp=", "tp=2,cp=2,pp=", "dp="};

// Of a seed; nothing where the job does not fit.
std::optional<Case> case_of(std::uint64_t seed) {
  Random random(seed);
  const int hosts = 1 + static_cast<int>(random.below(4));
  Case one{.cluster = random_cluster(random, hosts, random.unit()), .job = {}, .slots = {}};
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

class PlaceExact : public testing::TestWithParam<int> {};

TEST_P(PlaceExact, NoPlacementIsCheaper) {
  constexpr std::uint64_t kSeeds = 60;
  constexpr double kMostPlacements = 20000;
  const auto first = static_cast<std::uint64_t>(GetParam()) * kSeeds;
  int compared = 0;
  for (std::uint64_t seed = first; seed < first + kSeeds; ++seed) {
    const std::optional<Case> one = case_of(seed);
    if (!one || one->placements > kMostPlacements) continue;
    const auto plan = place(one->cluster, one->job, one->slots);
    ASSERT_TRUE(plan.ok()) << "seed " << seed << ": " << plan.status().text();
    const double cheapest = AllPlacements(one->cluster, one->job, one->slots).cheapest_us();
    EXPECT_NEAR(plan->cost_us, cheapest, 1e-9 * cheapest) << "seed " << seed;
    EXPECT_NEAR(plan->cost_us, sum_of(plan->parts), 1e-9 * cheapest) << "seed " << seed;
    for (const Alternative& other : plan->alternatives)
      EXPECT_GE(other.cost_us, plan->cost_us) << "seed " << seed << ": " << other.what;
    EXPECT_TRUE(plan->alternatives.size() < 2 ||
                plan->alternatives[0].what != plan->alternatives[1].what)
        << "seed " << seed;
    ++compared;
  }
  EXPECT_GT(compared, 10);
}

INSTANTIATE_TEST_SUITE_P(Seeds, PlaceExact, testing::Range(0, 8));

// 7 and 8 ranks on 4 hosts without GPUs, where all 65,536 can be looked at.
TEST(PlaceExactly, EightRanksOnFourHosts) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    Random random(seed);
    Cluster cluster = cluster_of(plain_host(10000), {"a", "b", "c", "d"});
    for (int from = 0; from < 4; ++from)
      for (int to = 0; to < 4; ++to)
        if (from != to)
          cluster.ways.push_back({.from = from,
                                  .to = to,
                                  .mb_per_s = 100 + random.unit() * 3000,
                                  .latency_us = 10 + random.unit() * 100});
    const int ranks = seed == 0 ? 7 : 8;
    JobShape job{.ranks = ranks};
    job.dimensions = parse_dimensions(seed == 2 ? "tp=2,pp=2,dp=" : "dp=", ranks).value();
    const std::vector<int> slots = {2, 3, 2, 2};
    EXPECT_NEAR(place(cluster, job, slots).value().cost_us,
                AllPlacements(cluster, job, slots).cheapest_us(), 1e-3)
        << "seed " << seed;
  }
}

// What is too large for that is found nearly as well.
TEST(PlaceNearby, IsWithinOnePercentOfTheCheapest) {
  int compared = 0;
  for (std::uint64_t seed = 1000; seed < 1400; ++seed) {
    std::optional<Case> one = case_of(seed);
    if (!one || one->job.ranks < 4) continue;
    for (int& slots : one->slots) slots = std::min(slots, one->job.ranks);
    const HostLinks links(one->cluster);
    HostKinds kinds(one->cluster, one->job, links);
    const ServerRules rules(one->cluster, one->job, links);
    Arranger arranger(kinds, rules, one->slots);
    const Found all = search(arranger);
    const Found nearby = search_nearby(arranger);
    EXPECT_TRUE(all.is_proven) << "seed " << seed;
    EXPECT_LE(nearby.best.cost_us, all.best.cost_us * 1.01) << "seed " << seed;
    ++compared;
  }
  EXPECT_GT(compared, 50);
}

}  // namespace
}  // namespace paceline::topology
