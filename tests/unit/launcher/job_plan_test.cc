#include "launcher/head/job_plan.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/launcher/parsing.h"
#include "tests/unit/topology/small_host.h"
#include "topology/model/finish.h"
#include "topology/render/plan_text.h"

namespace paceline::launcher {
namespace {

using topology::Cluster;
using topology::Plan;

Cluster two_hosts() {
  topology::HostModel host = topology::small_host();
  host.gpus.clear();
  host.links.clear();
  return {.machines = {topology::finish(std::move(host), 0).value()},
          .hosts = {{.name = "a"}, {.name = "b"}}};
}

// "a 0-3; b 4-7; " by rank.
std::string text(const Cluster& cluster, const Result<Plan>& plan) {
  if (!plan.ok()) return plan.status().text();
  std::string all;
  for (const topology::Placed& rank : plan->ranks)
    all += cluster.hosts[static_cast<std::size_t>(rank.host)].name + " " +
           rank.seat.cpus.to_text() + "; ";
  return all;
}

std::string planned(const Words& words, const std::vector<int>& slots = {4, 4},
                    const std::string& plan_text = "") {
  const Cluster cluster = two_hosts();
  return text(cluster, plan_job(cluster, {.slots = slots}, job_of(words), plan_text));
}

TEST(JobPlan, IsByCost) {
  EXPECT_EQ(planned({"-n", "4", "prog"}), "a 0-1; a 2-3; a 4-5; a 6-7; ");
  EXPECT_EQ(planned({"-n", "4", "prog"}, {2, 2}), "a 0-3; a 4-7; b 0-3; b 4-7; ");
  EXPECT_EQ(planned({"-n", "2", "--cpus-per-rank", "1", "prog"}), "a 0; a 4; ");
}

TEST(JobPlan, BindsAsTheUserSaid) {
  EXPECT_EQ(planned({"-n", "2", "--bind-to", "core", "prog"}), "a 0; a 4; ");
  EXPECT_EQ(planned({"-n", "2", "--bind-to", "none", "prog"}), "a ; a ; ");
}

TEST(JobPlan, IsByRules) {
  EXPECT_EQ(planned({"-n", "4", "--map-by", "node", "--bind-to", "numa", "prog"}),
            "a 0-3; b 0-3; a 4-7; b 4-7; ");
  const Cluster cluster = two_hosts();
  const auto plan =
      plan_job(cluster, {.slots = {2, 2}}, job_of({"-n", "4", "--map-by", "node", "prog"}), "");
  ASSERT_TRUE(plan.ok());
  EXPECT_GT(plan->cost_us, 0);
  ASSERT_EQ(plan->parts.size(), 1u);
}

TEST(JobPlan, IsReadFromAFileAndItsCostsAreThoseOfTheHosts) {
  const Words words = {"-n", "2", "--plan", "p.json", "prog"};
  const Cluster cluster = two_hosts();
  Plan plan = plan_job(cluster, {.slots = {4, 4}}, job_of({"-n", "2", "prog"}), "").value();
  const double cost = plan.cost_us;
  plan.cost_us = 1;
  const std::string file = topology::plan_json_text(cluster, plan);
  const auto again = plan_job(cluster, {.slots = {1, 1}}, job_of(words), file);
  ASSERT_TRUE(again.ok()) << again.status().text();
  EXPECT_EQ(again->ranks, plan.ranks);
  EXPECT_EQ(again->cost_us, cost);
  EXPECT_EQ(planned({"-n", "3", "--plan", "p.json", "prog"}, {4, 4}, file),
            "p.json: the plan has 2 ranks, but the job has 3");
}

TEST(JobPlan, SaysWhichOptionIsWrong) {
  EXPECT_EQ(planned({"-n", "4", "--groups", "tp=3,dp=", "prog"}).rfind("--groups: ", 0), 0u);
  EXPECT_NE(planned({"-n", "4", "--cpus-per-rank", "9", "prog"}), "");
}

TEST(JobPlan, OfUnknownHostsIsUnbound) {
  const Plan plan = unbound_plan({2, 0, 1});
  ASSERT_EQ(plan.ranks.size(), 3u);
  EXPECT_EQ(plan.ranks[1].host, 0);
  EXPECT_EQ(plan.ranks[2].host, 2);
  EXPECT_EQ(plan.ranks[2].seat, topology::Seat());
}

TEST(JobPlan, ProgramsHaveTheirOwnHosts) {
  Plan plan = unbound_plan({3, 2});
  const auto hosts = [&](const PlacementSpec& said) {
    std::vector<int> all;
    for (const topology::Placed& rank : with_programs(plan, {{1, 2}, {0, 2}}, said).ranks)
      all.push_back(rank.host);
    return all;
  };
  EXPECT_EQ(hosts({}), (std::vector<int>{0, 0, 0, 1, 1}));
  EXPECT_EQ(hosts({.rules = {.map_by = topology::Unit::kNode}}), (std::vector<int>{0, 0, 1, 0, 1}));
  plan = unbound_plan({2, 1});
  std::vector<int> all;
  for (const topology::Placed& rank : with_programs(plan, {{0, 2}, {1, 0}}, {}).ranks)
    all.push_back(rank.host);
  EXPECT_EQ(all, (std::vector<int>{1, 0, 0})) << "rank 0 is on the second host";
}

}  // namespace
}  // namespace paceline::launcher
