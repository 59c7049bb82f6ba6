// place() against all placements there are, by cost_parts() alone.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/topology/all_placements.h"
#include "topology/placement/place.h"
#include "topology/placement/search/search.h"

namespace paceline::topology {
namespace {

class PlaceExact : public ::testing::TestWithParam<int> {};

TEST_P(PlaceExact, NoPlacementIsCheaper) {
  constexpr std::uint64_t kSeeds = 60;
  constexpr double kMostPlacements = 20000;
  const auto first = static_cast<std::uint64_t>(GetParam()) * kSeeds;
  int compared = 0;
  for (std::uint64_t seed = first; seed < first + kSeeds; ++seed) {
    const std::optional<PlacementCase> one = placement_case(seed);
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

INSTANTIATE_TEST_SUITE_P(Seeds, PlaceExact, ::testing::Range(0, 8));

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
    std::optional<PlacementCase> one = placement_case(seed);
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
