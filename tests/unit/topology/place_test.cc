#include "topology/placement/place.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/topology/eight_gpu_host.h"
#include "tests/unit/topology/small_cluster.h"

namespace paceline::topology {
namespace {

JobShape job_of(const std::string& shape, int ranks) {
  return {.ranks = ranks, .dimensions = parse_dimensions(shape, ranks).value()};
}

// "a 0,1 b 2,3": each host with its ranks.
std::string hosts(const Cluster& cluster, const Plan& plan) {
  std::string text;
  for (int host = 0; host < static_cast<int>(cluster.hosts.size()); ++host) {
    std::string ranks;
    for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank)
      if (plan.ranks[rank].host == host) ranks += (ranks.empty() ? "" : ",") + std::to_string(rank);
    if (ranks.empty()) continue;
    text.append(text.empty() ? "" : " ").append(cluster.hosts[static_cast<std::size_t>(host)].name);
    text.append(" ").append(ranks);
  }
  return text;
}

std::string placed(const Cluster& cluster, const JobShape& job, const std::vector<int>& slots) {
  const auto plan = place(cluster, job, slots);
  return plan.ok() ? hosts(cluster, *plan) : plan.status().text();
}

std::vector<int> gpus(const Plan& plan) {
  std::vector<int> gpus;
  for (const Placed& rank : plan.ranks) gpus.push_back(rank.seat.gpu);
  return gpus;
}

bool has(const std::vector<std::string>& sentences, const std::string& one) {
  return std::ranges::find(sentences, one) != sentences.end();
}

TEST(Place, RanksStayTogetherAndOnTheFirstHosts) {
  const Cluster cluster = cluster_of(eight_gpu_host(), {"a", "b", "c"});
  EXPECT_EQ(placed(cluster, job_of("dp=", 8), {8, 8, 8}), "a 0,1,2,3,4,5,6,7");
  EXPECT_EQ(placed(cluster, job_of("dp=", 8), {4, 4, 4}), "a 0,1,2,3 b 4,5,6,7");
}

TEST(Place, TheSlowHostIsLeftOut) {
  Cluster cluster = cluster_of(plain_host(10000), {"slow", "b", "c"});
  cluster.ways = {{.from = 0, .to = 1, .mb_per_s = 100}, {.from = 0, .to = 2, .mb_per_s = 100}};
  const Plan plan = place(cluster, job_of("dp=", 4), {2, 2, 2}).value();
  EXPECT_EQ(hosts(cluster, plan), "slow 0,1 b 2,3")
      << "into b and c nobody has measured more than 100 MB/s either";
  cluster.ways.push_back({.from = 1, .to = 2, .mb_per_s = 1000});
  cluster.ways.push_back({.from = 2, .to = 1, .mb_per_s = 1000});
  const Plan other = place(cluster, job_of("dp=", 4), {2, 2, 2}).value();
  EXPECT_EQ(hosts(cluster, other), "b 0,1 c 2,3");
  EXPECT_TRUE(has(
      other.reasons,
      "4 ranks are on 2 hosts, b and c; slow has none, because the max there is 100 MB/s in each "
      "direction, and the used hosts have at least 1000."));
}

TEST(Place, AnAssumedRateIsStated) {
  const std::string sentence =
      "No source states the rate of NICs of a and b; 10 Gbit/s is assumed for each, so the cost is "
      "only an estimate.";
  HostModel machine = plain_host(10000);
  machine.nics[0].rate_mbit = {};
  Cluster cluster = cluster_of(machine, {"a", "b"});
  EXPECT_TRUE(has(place(cluster, job_of("dp=", 4), {2, 2}).value().reasons, sentence));
  cluster.network.mb_per_s = 1000;
  EXPECT_FALSE(has(place(cluster, job_of("dp=", 4), {2, 2}).value().reasons, sentence));
  const Cluster known = cluster_of(plain_host(10000), {"a", "b"});
  EXPECT_FALSE(has(place(known, job_of("dp=", 4), {2, 2}).value().reasons, sentence));
}

TEST(Place, TheRingFollowsFastWays) {
  Cluster cluster = cluster_of(plain_host(10000), {"a", "b", "c", "d"});
  for (int from = 0; from < 4; ++from)
    for (int to = 0; to < 4; ++to)
      if (from != to)
        cluster.ways.push_back(
            {.from = from, .to = to, .mb_per_s = (from + to) % 2 == 1 ? 100.0 : 1000.0});
  for (HostWay& way : cluster.ways)
    if ((way.from == 0 && way.to == 1) || (way.from == 3 && way.to == 2)) way.mb_per_s = 1000;
  for (HostWay& way : cluster.ways)
    if (way.from + way.to == 3) way.mb_per_s = 50;
  const Plan plan = place(cluster, job_of("dp=", 8), {2, 2, 2, 2}).value();
  EXPECT_EQ(hosts(cluster, plan), "a 0,1 b 2,3 c 6,7 d 4,5");
  EXPECT_TRUE(has(plan.reasons,
                  "Hosts are used in the order a, b, d and c, not in the order in which they were "
                  "named; in that order a step would take 70 s instead of "
                  "3.5 s."))
      << testing::PrintToString(plan.reasons);
  ASSERT_FALSE(plan.alternatives.empty());
  for (const Alternative& other : plan.alternatives) EXPECT_GE(other.cost_us, plan.cost_us);
}

TEST(Place, GroupsOfInnerDimensionsStayWithinAHost) {
  const Cluster cluster = cluster_of(plain_host(10000), {"a", "b"});
  const Plan plan = place(cluster, job_of("tp=4,dp=", 8), {6, 6}).value();
  EXPECT_EQ(hosts(cluster, plan), "a 0,1,2,3 b 4,5,6,7") << "and not 6 and 2";
  EXPECT_TRUE(has(plan.reasons, "tp: each group of 4 ranks is within one host."));
  EXPECT_TRUE(has(plan.reasons, "dp: the groups of 2 ranks are spread over hosts."));
  Cluster many = cluster_of(eight_gpu_host(), {});
  for (int i = 0; i < 16; ++i) many.hosts.push_back({.name = "n" + std::to_string(i)});
  const std::vector<int> six(16, 6);
  EXPECT_TRUE(has(place(many, job_of("tp=4,dp=", 64), six).value().reasons,
                  "tp: each group of 4 ranks is within one host."));
}

TEST(Place, UnequalHosts) {
  Cluster cluster{
      .machines = {eight_gpu_host(), gpu_host(4, {20000}, 100000), plain_host(10000)},
      .hosts = {{.name = "eight"}, {.name = "four", .machine = 1}, {.name = "none", .machine = 2}},
      .ways = {},
      .network = {}};
  const Plan plan = place(cluster, job_of("dp=", 14), {8, 4, 2}).value();
  EXPECT_EQ(hosts(cluster, plan), "eight 0,1,2,3,4,5,6,7 four 8,9,10,11 none 12,13");
  std::vector<int> first = gpus(plan);
  EXPECT_EQ(first.back(), kNone);
  EXPECT_EQ(std::set<int>(first.begin(), first.begin() + 8).size(), 8U);
  const Plan shared = place(cluster, job_of("dp=", 8), {0, 8, 0}).value();
  std::vector<int> twice = gpus(shared);
  std::ranges::sort(twice);
  EXPECT_EQ(twice, (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3})) << "more slots than GPUs";
}

TEST(Place, NeighboursHaveTheFastestLinks) {
  // In a ring 0-2-1-3: the pairs are (0,1) (0,2) (0,3) (1,2) (1,3) (2,3).
  const Cluster cluster = cluster_of(gpu_host(4, {0, 40000, 40000, 40000, 40000, 0}, 0), {"a"});
  const Plan plan = place(cluster, job_of("dp=", 4), {4}).value();
  EXPECT_EQ(gpus(plan), (std::vector<int>{0, 2, 1, 3}));
  EXPECT_TRUE(has(plan.reasons,
                  "On a ranks use GPUs 0, 2, 1 and 3 in this order, so that ranks that send the "
                  "most have the fastest links and NICs."));
}

TEST(Place, WhoLeavesTheHostHasTheNearestNic) {
  HostModel machine = small_host();
  machine.nics.pop_back();
  machine.links = {{.gpu = 0, .peer = 1, .count = 4},
                   {.gpu = 0, .peer = 2, .count = 4},
                   {.gpu = 1, .peer = 2, .count = 4}};
  machine.nics[0].rate_mbit = known(std::uint64_t{400000});
  machine.bridges[1].mb_per_s = known(std::uint64_t{31508});
  const Cluster cluster = cluster_of(finish(std::move(machine), 0).value(), {"a", "b"});
  const Plan plan = place(cluster, job_of("dp=", 6), {3, 3}).value();
  EXPECT_EQ(gpus(plan), (std::vector<int>{0, 2, 1, 0, 2, 1}))
      << "GPU 2 is on another package than the NIC, so no edge between hosts is its own";
}

TEST(Place, NicsOnlyWhereThereAreSeveralHosts) {
  const Cluster cluster = cluster_of(plain_host(10000), {"a", "b"});
  const Plan one = place(cluster, job_of("dp=", 4), {4, 4}).value();
  for (const Placed& rank : one.ranks) EXPECT_EQ(rank.seat.nic, kNone);
  const Plan two = place(cluster, job_of("dp=", 4), {2, 2}).value();
  for (const Placed& rank : two.ranks) EXPECT_EQ(rank.seat.nic, 0);
}

TEST(Place, OnlyCpusThatRanksMayUse) {
  Cluster cluster = cluster_of(plain_host(10000), {"a", "b"});
  cluster.hosts[1].cpus = CpuSet::parse("2-5").value();
  JobShape job = job_of("dp=", 4);
  const Plan plan = place(cluster, job, {2, 2}).value();
  EXPECT_EQ(plan.ranks[1].seat.cpus.to_text(), "8-15");
  EXPECT_EQ(plan.ranks[2].seat.cpus.to_text(), "2-3");
  job.cores_each = 2;
  EXPECT_EQ(placed(cluster, job, {4, 4}), "a 0,1,2,3");
  job.cores_each = 8;
  EXPECT_EQ(placed(cluster, job, {4, 4}),
            "there are not enough cores for 4 ranks with 8 each; the hosts have enough for 2");
}

TEST(Place, HostsWhoseCpusNobodyKnowsBindNobody) {
  HostModel machine{.sources = {"a test"}};
  for (int i = 0; i < 2; ++i) {
    const std::string name = "GPU" + std::to_string(i);
    machine.gpus.push_back({.number = i, .name = name, .names = {name}});
  }
  const Cluster cluster = cluster_of(finish(std::move(machine), 0).value(), {"a", "b"});
  const Plan plan = place(cluster, job_of("dp=", 4), {2, 2}).value();
  EXPECT_EQ(hosts(cluster, plan), "a 0,1 b 2,3");
  EXPECT_EQ(gpus(plan), (std::vector<int>{0, 1, 0, 1}));
  EXPECT_EQ(plan.ranks[3].seat.why, "not bound, because no CPU is known");
}

TEST(Place, WhatDoesNotFitIsRefused) {
  const Cluster cluster = cluster_of(plain_host(10000), {"a", "b"});
  EXPECT_EQ(placed(cluster, job_of("dp=", 9), {4, 4}),
            "there are not enough slots for 9 ranks; the hosts have 8");
  EXPECT_EQ(placed(cluster, job_of("dp=", 2), {-4, 1}),
            "there are not enough slots for 2 ranks; the hosts have 1");
  Cluster elsewhere = cluster;
  elsewhere.hosts[0].cpus = CpuSet::parse("100").value();
  EXPECT_EQ(placed(elsewhere, job_of("dp=", 4), {4, 0}), "host a: no usable CPU is known");
}

TEST(Place, OneRank) {
  const Cluster cluster = cluster_of(plain_host(10000), {"a", "b"});
  const Plan plan = place(cluster, job_of("dp=", 1), {4, 4}).value();
  EXPECT_EQ(hosts(cluster, plan), "a 0");
  EXPECT_EQ(plan.cost_us, 0);
  EXPECT_TRUE(plan.parts.empty());
}

}  // namespace
}  // namespace paceline::topology
