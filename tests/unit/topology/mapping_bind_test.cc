// What binding rules make of a plan that cost has made.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/topology/host_words.h"
#include "tests/unit/topology/plain_machine.h"
#include "topology/placement/rules/mapping.h"

namespace paceline::topology {
namespace {

// 2 packages with 2 NUMA nodes each, and on each 2 cores with 2 threads.
Cluster two_hosts() {
  return {.machines = {plain_machine({.nodes = 2, .cores = 2})},
          .hosts = {{.name = "a"}, {.name = "b"}}};
}

Plan plan_of(const std::vector<const char*>& seats, int host = 0) {
  Plan plan;
  for (const char* const seat : seats)
    plan.ranks.push_back(
        {.host = host,
         .seat = {.gpu = 3, .nic = 2, .cpus = cpus(seat), .numa_nodes = {9}, .why = "cheap"}});
  return plan;
}

std::string text_of(const Plan& plan) {
  std::string text;
  for (const Placed& rank : plan.ranks) {
    text += (text.empty() ? "" : " ") + rank.seat.cpus.to_text();
    if (rank.seat.shares_cpus) text += "*";
    EXPECT_EQ(std::pair(rank.seat.gpu, rank.seat.nic), std::pair(3, 2));
  }
  return text;
}

std::string bound(const MappingRules& rules, const std::vector<const char*>& seats) {
  Plan plan = plan_of(seats);
  const Status status = bind_ranks(two_hosts(), rules, plan);
  return status.ok() ? text_of(plan) : status.text();
}

TEST(BindRanks, WithoutRulesLeavesThePlan) {
  Plan plan = plan_of({"0-3"});
  EXPECT_TRUE(bind_ranks(two_hosts(), {.may_overload = true}, plan).ok());
  EXPECT_EQ(plan.ranks, plan_of({"0-3"}).ranks);
  EXPECT_TRUE(plan.reasons.empty());
}

TEST(BindRanks, GivesEachRankACoreOfItsSeat) {
  const MappingRules core{.bind_to = Unit::kCore};
  EXPECT_EQ(bound(core, {"4-7", "8-15"}), "4-5 8-9");
  EXPECT_EQ(bound(core, {"0-7", "0-7", "0-7"}), "0-1 2-3 4-5");
  EXPECT_EQ(bound({.bind_to = Unit::kHwthread}, {"4-7", "4-7", "4-7"}), "4 5 6");
}

TEST(BindRanks, GivesANearCoreWhereTheSeatHasTooFew) {
  const MappingRules core{.bind_to = Unit::kCore};
  EXPECT_EQ(bound(core, {"12-13", "12-13"}), "12-13 14-15") << "of the NUMA node";
  EXPECT_EQ(bound(core, {"12-15", "12-15", "12-15"}), "12-13 14-15 8-9") << "of the package";
  EXPECT_EQ(bound(core, {"8-9", "10-11", "8-9", "12-13", "14-15"}), "8-9 10-11 0-1 12-13 14-15");
  EXPECT_EQ(bound(core, {"0-1", "0-1", "2-3"}), "0-1 4-5 2-3") << "nobody's seat is taken";
}

TEST(BindRanks, GivesSeveralCores) {
  EXPECT_EQ(bound({.cpus_per_rank = 2}, {"0-7", "0-7", "8-15"}), "0-1,4-5 2-3,6-7 8-11");
  EXPECT_EQ(bound({.cpus_per_rank = 3}, {"4-7", "8-11"}), "0-1,4-7 8-13");
  EXPECT_EQ(bound({.bind_to = Unit::kHwthread, .cpus_per_rank = 3}, {"4-7"}), "4-6");
}

TEST(BindRanks, GivesWholeUnits) {
  EXPECT_EQ(bound({.bind_to = Unit::kNuma}, {"1", "2-5", "8-9"}), "0-3* 0-7* 8-11");
  EXPECT_EQ(bound({.bind_to = Unit::kPackage}, {"1", "12"}), "0-7 8-15");
  EXPECT_EQ(bound({.bind_to = Unit::kL3}, {"1", "12"}), "0-3 12-15");
}

TEST(BindRanks, TellsMemoryAndWhy) {
  Plan plan = plan_of({"2-5"});
  ASSERT_TRUE(bind_ranks(two_hosts(), {.bind_to = Unit::kNuma}, plan).ok());
  EXPECT_EQ(plan.ranks[0].seat.numa_nodes, (std::vector<int>{0, 1}));
  EXPECT_EQ(plan.ranks[0].seat.why, "cheap; bound to numa");
  EXPECT_EQ(plan.reasons,
            (std::vector<std::string>{"ranks are bound to numa, as the options state"}));
}

TEST(BindRanks, CanUnbind) {
  Plan plan = plan_of({"2-5"});
  ASSERT_TRUE(bind_ranks(two_hosts(), {.bind_to = Unit::kNode, .cpus_per_rank = 2}, plan).ok());
  EXPECT_TRUE(plan.ranks[0].seat.cpus.is_empty());
  EXPECT_TRUE(plan.ranks[0].seat.numa_nodes.empty());
  EXPECT_EQ(plan.ranks[0].seat.why, "cheap; not bound");
}

TEST(BindRanks, KeepsHostsApart) {
  Plan plan = plan_of({"0-3", "0-3"});
  plan.ranks[1].host = 1;
  ASSERT_TRUE(bind_ranks(two_hosts(), {.bind_to = Unit::kCore}, plan).ok());
  EXPECT_EQ(text_of(plan), "0-1 0-1");
}

TEST(BindRanks, BindsMoreRanksThanCoresOnlyWhereThatIsAllowed) {
  const std::vector<const char*> nine(9, "0-15");
  EXPECT_EQ(bound({.bind_to = Unit::kCore}, nine),
            "host a: 9 ranks cannot be bound to CPUs 0-15, with only 8 cores; use fewer "
            "ranks, or --bind-to core:overload-allowed");
  EXPECT_EQ(bound({.bind_to = Unit::kCore, .may_overload = true}, nine),
            "0-1* 2-3 4-5 6-7 8-9 10-11 12-13 14-15 0-1*");
  EXPECT_EQ(bound({.cpus_per_rank = 5}, {"0-7", "8-15"}),
            "host a: 2 ranks with 5 cores each cannot be bound to CPUs 0-15, with only 8 "
            "cores; use fewer ranks, or --bind-to core:overload-allowed");
  EXPECT_EQ(bound({.bind_to = Unit::kNuma, .cpus_per_rank = 2}, {"0-7"}),
            "--bind-to numa and 2 CPUs per rank cannot be combined; bind to core or hwthread");
}

TEST(BindRanks, LeavesThePlanWhereAnotherHostHasNoRoom) {
  Cluster cluster = two_hosts();
  cluster.hosts[1].cpus = cpus("4");
  Plan plan = plan_of({"0-3", "4", "4"});
  plan.ranks[1].host = plan.ranks[2].host = 1;
  const std::vector<Placed> before = plan.ranks;
  EXPECT_EQ(bind_ranks(cluster, {.bind_to = Unit::kCore}, plan).text(),
            "host b: 2 ranks cannot be bound to CPU 4, with only 1 core; use fewer ranks, or "
            "--bind-to core:overload-allowed");
  EXPECT_EQ(plan.ranks, before);
}

TEST(BindRanks, NeedsToKnowTheUnit) {
  Cluster cluster = two_hosts();
  cluster.machines[0].caches.pop_back();
  Plan plan = plan_of({"12"});
  EXPECT_EQ(bind_ranks(cluster, {.bind_to = Unit::kL3}, plan).text(),
            "host a: CPU 12 is not in a known l3cache");
  cluster.machines[0].cpus = {};
  EXPECT_EQ(bind_ranks(cluster, {.bind_to = Unit::kCore}, plan).text(),
            "host a: no usable CPU is known");
}

}  // namespace
}  // namespace paceline::topology
