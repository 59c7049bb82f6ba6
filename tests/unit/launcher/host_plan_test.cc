#include "launcher/options/host_plan.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "comm/base/random.h"

namespace paceline::launcher {
namespace {

using Shares = std::vector<HostShare>;

Result<Shares> shared(const std::vector<HostSlots>& hosts, const ShareRules& rules) {
  return share_ranks(hosts, rules);
}

Shares shares(const std::vector<HostSlots>& hosts, int ranks, int max_per_host = 0) {
  const Result<Shares> result = shared(hosts, {.ranks = ranks, .max_per_host = max_per_host});
  EXPECT_TRUE(result.ok()) << result.status().to_string();
  return result.ok() ? *result : Shares();
}
std::string error(const std::vector<HostSlots>& hosts, int ranks, int max_per_host = 0) {
  return shared(hosts, {.ranks = ranks, .max_per_host = max_per_host}).status().text();
}

// The rules for a mapping, such as "ppr:1:node", and for -N if max_per_host is given.
ShareRules by(const std::string& map_by, int ranks, int max_per_host = 0) {
  ShareRules rules{.ranks = ranks, .max_per_host = max_per_host};
  EXPECT_TRUE(topology::parse_map_by(map_by, rules.mapping).ok()) << map_by;
  return rules;
}
Shares mapped(const std::string& map_by, const std::vector<HostSlots>& hosts, int ranks,
              int max_per_host = 0) {
  const Result<Shares> result = shared(hosts, by(map_by, ranks, max_per_host));
  EXPECT_TRUE(result.ok()) << result.status().to_string();
  return result.ok() ? *result : Shares();
}

TEST(HostPlan, StatedSlotsAreFilledInOrder) {
  EXPECT_EQ(shares({{"a", 4}, {"b", 2}, {"c", 4}}, 7),
            (Shares{{"a", 4, 4}, {"b", 2, 2}, {"c", 1, 4}}));
  EXPECT_EQ(shares({{"a", 4}, {"b", 2}}, 3), (Shares{{"a", 3, 4}}));
}

TEST(HostPlan, OthersShareWhatIsLeft) {
  EXPECT_EQ(shares({{"a", {}}, {"b", {}}, {"c", {}}}, 7),
            (Shares{{"a", 3, 3}, {"b", 2, 2}, {"c", 2, 2}}));
  EXPECT_EQ(shares({{"a", {}}, {"b", 2}, {"c", {}}}, 5),
            (Shares{{"a", 2, 2}, {"b", 2, 2}, {"c", 1, 1}}));
  EXPECT_EQ(shares({{"a", {}}, {"b", {}}, {"c", {}}}, 1), (Shares{{"a", 1, 1}}));
}

TEST(HostPlan, AHostThatIsNamedTwiceHasTheSlotsOfBoth) {
  EXPECT_EQ(shares({{"a", 1}, {"b", 1}, {"a", 2}}, 4), (Shares{{"a", 3, 3}, {"b", 1, 1}}));
  EXPECT_EQ(shares({{"a", 1}, {"b", 1}, {"a", {}}}, 4), (Shares{{"a", 3, 3}, {"b", 1, 1}}));
  EXPECT_EQ(shares({{"a", kMaxRanks}, {"a", kMaxRanks}}, 2), (Shares{{"a", 2, kMaxRanks}}));
}

TEST(HostPlan, NoHostGetsMoreThanItMay) {
  EXPECT_EQ(shares({{"a", 4}, {"b", 4}}, 4, 2), (Shares{{"a", 2, 2}, {"b", 2, 2}}));
  EXPECT_EQ(shares({{"a", {}}, {"b", 4}}, 3, 2), (Shares{{"a", 1, 1}, {"b", 2, 2}}));
}

TEST(HostPlan, WhatDoesNotFitIsRefusedWithTheNumbers) {
  EXPECT_EQ(
      error({{"a", 1}}, 2),
      "the job has 2 ranks, but its hosts have 1 slot; ask for fewer ranks, or give the hosts "
      "more slots");
  EXPECT_EQ(error({{"a", 4}, {"b", {}}}, 5, 2),
            "the job has 5 ranks, but its hosts have 4 slots with at most 2 each; ask for fewer "
            "ranks, or give the hosts more slots");
}

const std::vector<HostSlots> kFour{{"a", 2}, {"b", 2}, {"c", 2}, {"d", 2}};

TEST(HostPlan, AMappingByNodesGoesOverAllHosts) {
  EXPECT_EQ(mapped("node", {{"a", 100}, {"b", 100}}, 4), (Shares{{"a", 2, 100}, {"b", 2, 100}}));
  EXPECT_EQ(mapped("node", kFour, 4), (Shares{{"a", 1, 2}, {"b", 1, 2}, {"c", 1, 2}, {"d", 1, 2}}));
  EXPECT_EQ(mapped("ppr:1:node", kFour, 4),
            (Shares{{"a", 1, 2}, {"b", 1, 2}, {"c", 1, 2}, {"d", 1, 2}}));
  EXPECT_EQ(mapped("ppr:1:node", kFour, 3), (Shares{{"a", 1, 2}, {"b", 1, 2}, {"c", 1, 2}}));
  EXPECT_EQ(mapped("node:PE=2", kFour, 2), (Shares{{"a", 1, 2}, {"b", 1, 2}}));
  EXPECT_EQ(mapped("slot", kFour, 4), (Shares{{"a", 2, 2}, {"b", 2, 2}}));
  EXPECT_EQ(mapped("core", kFour, 3), (Shares{{"a", 2, 2}, {"b", 1, 2}}));
}

TEST(HostPlan, AMappingByNodesKeepsToTheMaximumPerHost) {
  EXPECT_EQ(mapped("node", {{"a", 4}, {"b", 1}, {"c", 4}}, 5, 2),
            (Shares{{"a", 2, 2}, {"b", 1, 1}, {"c", 2, 2}}));
  EXPECT_EQ(mapped("ppr:2:node", {{"a", 4}, {"b", 4}}, 2, 1), (Shares{{"a", 1, 1}, {"b", 1, 1}}));
}

TEST(HostPlan, AMappingByNodesNeedsNoStatedSlots) {
  EXPECT_EQ(mapped("ppr:2:node", {{"a", {}}, {"b", {}}, {"c", {}}}, 4),
            (Shares{{"a", 2, 2}, {"b", 2, 2}}));
  EXPECT_EQ(mapped("node", {{"a", 1}, {"b", {}}}, 4), (Shares{{"a", 1, 1}, {"b", 3, 3}}));
}

TEST(HostPlan, ThereIsNoRoomForAMappingByNodes) {
  EXPECT_EQ(shared(kFour, by("ppr:1:node", 5)).status().text(),
            "the job has 5 ranks, but with 1 per node the slots of its hosts have room "
            "for 4");
  EXPECT_EQ(shared(kFour, by("node", 9)).status().text(),
            "the job has 9 ranks, but its hosts have 8 slots; ask for fewer ranks, or give the "
            "hosts more slots");
}

// Equals Open MPI 4.1.4.
TEST(HostPlan, OversubscribedHostsGetWhatIsMissingEvenly) {
  const std::vector<HostSlots> hosts{{"a", 1}, {"b", 3}, {"c", 2}};
  EXPECT_EQ(mapped("slot:OVERSUBSCRIBE", hosts, 8),
            (Shares{{"a", 2, 2}, {"b", 4, 4}, {"c", 2, 2}}));
  EXPECT_EQ(mapped("slot:OVERSUBSCRIBE", hosts, 13),
            (Shares{{"a", 4, 4}, {"b", 5, 5}, {"c", 4, 4}}));
  EXPECT_EQ(mapped("node:OVERSUBSCRIBE", hosts, 8),
            (Shares{{"a", 3, 3}, {"b", 3, 3}, {"c", 2, 2}}));
  EXPECT_EQ(mapped("ppr:3:node:OVERSUBSCRIBE", hosts, 7),
            (Shares{{"a", 3, 3}, {"b", 3, 3}, {"c", 1, 1}}));
  EXPECT_EQ(mapped("slot:OVERSUBSCRIBE", hosts, 4), (Shares{{"a", 1, 1}, {"b", 3, 3}}));
}

TEST(HostPlan, WhereTheMachineDecidesItHasAllHostsThatMayGetRanks) {
  EXPECT_EQ(mapped("ppr:1:numa", kFour, 3), (Shares{{"a", 2, 2}, {"b", 2, 2}, {"c", 2, 2}}));
  EXPECT_EQ(mapped("ppr:2:core", kFour, 4), (Shares{{"a", 2, 2}, {"b", 2, 2}}));
  EXPECT_EQ(mapped("ppr:1:core", kFour, 8),
            (Shares{{"a", 2, 2}, {"b", 2, 2}, {"c", 2, 2}, {"d", 2, 2}}));
  EXPECT_EQ(mapped("core:SPAN", kFour, 2), (Shares{{"a", 2, 2}, {"b", 2, 2}}));
  EXPECT_EQ(mapped("ppr:1:numa", {{"a", {}}, {"b", {}}}, 3), (Shares{{"a", 3, 3}, {"b", 3, 3}}));
}

TEST(HostPlan, CostThatConsidersAllHostsHasThemAll) {
  EXPECT_EQ(shared(kFour, {.ranks = 2, .considers_all = true}).value(),
            (Shares{{"a", 2, 2}, {"b", 2, 2}, {"c", 2, 2}, {"d", 2, 2}}));
  EXPECT_EQ(shared(std::vector<HostSlots>{{"a", {}}, {"b", {}}, {"c", {}}},
                   {.ranks = 2, .considers_all = true})
                .value(),
            (Shares{{"a", 1, 1}, {"b", 1, 1}, {"c", 1, 1}}));
}

TEST(HostPlan, CostConsidersAllHostsWhereTheUserHasSaidWhatItDependsOn) {
  const auto considers_all = [](const PlacementSpec& placement) {
    return share_rules_of({.programs = {{.command = {"true"}}}, .placement = placement})
        .considers_all;
  };
  EXPECT_FALSE(considers_all({}));
  EXPECT_TRUE(considers_all({.groups = "tp=2,dp="}));
  EXPECT_TRUE(considers_all({.cluster_file = "cluster.json"}));
  EXPECT_TRUE(considers_all({.measured_file = "check.json"}));
  EXPECT_FALSE(
      considers_all({.rules = {.map_by = topology::Unit::kNode}, .measured_file = "check.json"}));
}

JobSpec job_with_own_hosts() {
  JobSpec job;
  job.programs = {{.ranks = 1, .command = {"server"}},
                  {.ranks = 3, .command = {"worker"}, .hosts = {{"b", 2}, {"c", 2}}},
                  {.ranks = 2, .command = {"reader"}}};
  return job;
}

TEST(HostPlan, ProgramsHaveTheirOwnHosts) {
  EXPECT_EQ(share_job(job_with_own_hosts(), std::vector<HostSlots>{{"a", 2}, {"b", 1}}).value(),
            (Shares{{"a", 2, 2, {1, 0, 1}}, {"b", 3, 3, {0, 2, 1}}, {"c", 1, 1, {0, 1, 0}}}))
      << "programs without hosts of their own share those of the job";
}

TEST(HostPlan, OwnHostsThatDoNotFitAreRefused) {
  const std::vector<HostSlots> hosts{{"a", 2}};
  EXPECT_EQ(share_job(job_with_own_hosts(), hosts).status().text().substr(0, 9), "program 3");
}

TEST(HostPlan, ProgramsThatShareHostsKeepToTheRanksOfEachHost) {
  JobSpec job = job_with_own_hosts();  // programs 1 and 3 share a and b
  job.ranks_per_host = 1;
  for (ProgramSpec& program : job.programs) program.ranks = 1;
  const Shares shares = share_job(job, std::vector<HostSlots>{{"a", 4}, {"b", 4}}).value();
  EXPECT_EQ(shares[0].by_program[0], 1);
  EXPECT_EQ(shares[0].by_program[2], 0);
}

// For every mapping: all ranks have a host, and no host gets more than its slots.
TEST(HostPlan, CountsSumToTheRanksWithinSlots) {
  constexpr std::array kMaps{"slot", "node", "core", "ppr:1:node", "ppr:3:node", "node:PE=2"};
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<HostSlots> hosts;
    const std::uint64_t count = 1 + random.below(5);
    for (std::uint64_t i = 0; i < count; ++i)
      hosts.push_back(
          {std::string(1, static_cast<char>('a' + i)), static_cast<int>(1 + random.below(5))});
    const int max_per_host = static_cast<int>(random.below(4));
    const int ranks = static_cast<int>(1 + random.below(12));
    const auto result = shared(hosts, by(kMaps[random.below(kMaps.size())], ranks, max_per_host));
    if (!result.ok()) continue;
    int sum = 0;
    for (const HostShare& share : *result) {
      sum += share.ranks;
      ASSERT_GE(share.ranks, 1);
      ASSERT_LE(share.ranks, share.slots);
      ASSERT_LE(share.slots, *hosts[static_cast<std::size_t>(share.host[0] - 'a')].slots);
      if (max_per_host > 0) {
        ASSERT_LE(share.slots, max_per_host);
      }
    }
    ASSERT_EQ(sum, ranks);
  }
}

}  // namespace
}  // namespace paceline::launcher
