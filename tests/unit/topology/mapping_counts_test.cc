#include "topology/placement/rules/mapping_counts.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "comm/base/random.h"
#include "tests/unit/topology/plain_machine.h"

namespace paceline::topology {
namespace {

using Counts = std::vector<int>;

MappingRules by(const std::string& text) {
  MappingRules rules;
  EXPECT_TRUE(parse_map_by(text, rules).ok()) << text;
  return rules;
}

Counts counts(const std::string& map_by, const Counts& slots, int ranks) {
  const auto result = count_by_host(ranks, slots, by(map_by));
  EXPECT_TRUE(result.ok()) << result.status().text();
  return result.ok() ? *result : Counts();
}

// The counts of mpirun of Open MPI 4.1.4, from:
//   mpirun --do-not-launch --display-map --bind-to none -H a:1,b:3,c:2 -n 6 --map-by node true
TEST(MappingCounts, AreThoseOfOpenMpi) {
  EXPECT_EQ(counts("slot", {2, 2, 2, 2}, 4), (Counts{2, 2, 0, 0}));
  EXPECT_EQ(counts("core", {100, 100}, 4), (Counts{4, 0}));
  EXPECT_EQ(counts("node", {100, 100}, 4), (Counts{2, 2}));
  EXPECT_EQ(counts("node", {2, 2, 2, 2}, 4), (Counts{1, 1, 1, 1}));
  EXPECT_EQ(counts("node", {2, 2, 2, 2}, 3), (Counts{1, 1, 1, 0}));
  EXPECT_EQ(counts("node", {1, 3, 2}, 6), (Counts{1, 3, 2}));
  EXPECT_EQ(counts("node", {1, 3, 2}, 4), (Counts{1, 2, 1}));
  EXPECT_EQ(counts("node:PE=2", {4, 4, 4}, 3), (Counts{1, 1, 1}));
  EXPECT_EQ(counts("ppr:1:node", {2, 2, 2, 2}, 4), (Counts{1, 1, 1, 1}));
  EXPECT_EQ(counts("ppr:1:node", {2, 2, 2, 2}, 3), (Counts{1, 1, 1, 0}));
  EXPECT_EQ(counts("ppr:2:node", {2, 2, 2, 2}, 4), (Counts{2, 2, 0, 0}));
}

TEST(MappingCounts, HostsWithoutSlotsGetNone) {
  EXPECT_EQ(counts("node", {0, 2, 0, 1}, 3), (Counts{0, 2, 0, 1}));
  EXPECT_EQ(counts("ppr:1:node", {0, 2, 3}, 2), (Counts{0, 1, 1}));
  EXPECT_EQ(counts("slot", {0, 2, 3}, 2), (Counts{0, 2, 0}));
}

TEST(MappingCounts, NoRoomIsRefusedWithTheNumbers) {
  const Counts slots{2, 2, 2, 2};
  EXPECT_EQ(count_by_host(5, slots, by("ppr:1:node")).status().text(),
            "the job has 5 ranks, but with 1 per node the slots of its hosts have room for 4");
  EXPECT_EQ(count_by_host(9, slots, by("node")).status().text(),
            "the job has 9 ranks, but the slots of its hosts have room for 8");
}

TEST(MappingCounts, NeedMachinesWhereUnitsOfAHostDecide) {
  for (const char* text :
       {"slot", "core", "numa:PE=2", "node", "node:SPAN", "slot:SPAN", "ppr:3:node"})
    EXPECT_FALSE(counts_need_machines(by(text))) << text;
  EXPECT_FALSE(counts_need_machines({.rank_by = Unit::kNode}));
  for (const char* text : {"ppr:1:numa", "ppr:2:core", "core:SPAN", "socket:SPAN"})
    EXPECT_TRUE(counts_need_machines(by(text))) << text;
}

// Hosts with different machines, random slots and random rules.
struct Drawn {
  Cluster cluster;
  Counts slots;
  int ranks = 1;
  MappingRules rules;
};

Drawn drawn(Random& random) {
  Drawn one{.cluster = {.machines = {plain_machine({}),
                                     plain_machine({.packages = 1, .nodes = 2, .cores = 3}),
                                     plain_machine({.packages = 1, .cores = 1, .threads = 1})}}};
  const std::size_t hosts = 1 + random.below(5);
  for (std::size_t i = 0; i < hosts; ++i) {
    one.cluster.hosts.push_back(
        {.name = "h" + std::to_string(i), .machine = static_cast<int>(random.below(3))});
    one.slots.push_back(static_cast<int>(random.below(6)));
  }
  const int all = std::accumulate(one.slots.begin(), one.slots.end(), 0);
  one.ranks = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(all) + 2));
  constexpr std::array kMaps{"slot",       "node",       "core",      "numa",
                             "ppr:1:node", "ppr:2:node", "numa:SPAN", "ppr:1:numa",
                             "ppr:2:core", "node:SPAN",  "socket",    "slot:SPAN"};
  one.rules = by(kMaps[random.below(kMaps.size())]);
  one.rules.bind_to = Unit::kNode;
  constexpr std::array kOrders{RankOrder::kCycle, RankOrder::kSpan, RankOrder::kFill};
  if (random.chance(0.5)) one.rules.rank_by = random.chance(0.5) ? Unit::kNode : Unit::kCore;
  one.rules.rank_order = kOrders[random.below(kOrders.size())];
  return one;
}

Counts counts_of(const Plan& plan, std::size_t hosts) {
  Counts counts(hosts, 0);
  for (const Placed& rank : plan.ranks) ++counts[static_cast<std::size_t>(rank.host)];
  return counts;
}

TEST(MappingCounts, AreThoseOfTheWholeMapping) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Drawn one = drawn(random);
    const auto plan = map_ranks(one.cluster, {.ranks = one.ranks}, one.slots, one.rules);
    const auto early = count_by_host(one.ranks, one.slots, one.rules);
    if (!counts_need_machines(one.rules)) {
      ASSERT_EQ(early.ok(), plan.ok());
      if (!plan.ok()) continue;
      ASSERT_EQ(*early, counts_of(*plan, one.slots.size()));
    } else {
      if (!plan.ok()) continue;
      const Counts late = counts_of(*plan, one.slots.size());
      for (std::size_t i = 0; i < late.size(); ++i)
        ASSERT_TRUE(late[i] == 0 || (*early)[i] > 0) << "host " << i;
    }
  }
}

TEST(MappingCounts, KeepToSlotsAndGoInTurn) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Drawn one = drawn(random);
    const auto result = count_by_host(one.ranks, one.slots, by("node"));
    const int all = std::accumulate(one.slots.begin(), one.slots.end(), 0);
    ASSERT_EQ(result.ok(), one.ranks <= all);
    if (!result.ok()) continue;
    ASSERT_EQ(std::accumulate(result->begin(), result->end(), 0), one.ranks);
    const int max = *std::ranges::max_element(*result);
    for (std::size_t i = 0; i < result->size(); ++i) {
      ASSERT_LE((*result)[i], one.slots[i]);
      ASSERT_TRUE((*result)[i] >= max - 1 || (*result)[i] == one.slots[i]);
    }
  }
}

}  // namespace
}  // namespace paceline::topology
