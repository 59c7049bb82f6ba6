#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/topology/small_cluster.h"
#include "topology/placement/cost/cost.h"
#include "topology/placement/place.h"
#include "topology/placement/servers/server_rules.h"

namespace paceline::topology {
namespace {

Cluster plain_cluster() { return cluster_of(plain_host(8000), {"a", "b", "c", "d"}); }

JobShape job_of(int ranks, int servers, ServersOn on) {
  return {.ranks = ranks,
          .dimensions = parse_dimensions("dp=", ranks).value(),
          .servers = servers,
          .servers_on = on};
}

// "c 50 %, d 50 %"
std::string servers(const Cluster& cluster, const JobShape& job, const std::vector<int>& slots) {
  const auto plan = place(cluster, job, slots);
  if (!plan.ok()) return plan.status().text();
  std::string text;
  for (const PlacedServer& server : plan->servers)
    text.append(text.empty() ? "" : ", ")
        .append(cluster.hosts[static_cast<std::size_t>(server.place.host)].name)
        .append(" " + std::to_string(static_cast<int>(server.share * 1000 + 0.5)));
  return text;
}

TEST(PlaceServers, SpreadByTheSplitOfTheLinks) {
  const Cluster cluster = plain_cluster();
  const std::vector<int> slots = {2, 2, 2, 0};
  EXPECT_EQ(servers(cluster, job_of(6, 4, ServersOn::kSpread), slots), "a 200, b 200, c 200, d 400")
      << "n = 3 hosts with ranks and k = 1 without: 2/10 and 4/10";
  EXPECT_EQ(servers(cluster, job_of(6, 1, ServersOn::kSpread), slots), "a 1000")
      << "beside ranks the others' 4 buffers, elsewhere 6";
  EXPECT_EQ(servers(cluster, job_of(6, 5, ServersOn::kSpread), slots),
            "a 200, b 200, c 200, d 200, d 200");
}

TEST(PlaceServers, RanksAreSpreadWhereServersCarryAll) {
  const Cluster cluster = plain_cluster();
  const Plan plan = place(cluster, job_of(4, 4, ServersOn::kSpread), {4, 4, 4, 4}).value();
  ASSERT_EQ(plan.parts.size(), 1U);
  EXPECT_EQ(plan.parts[0].what, "servers: buffers of 4 ranks to 4 servers and back");
  for (const Alternative& other : plan.alternatives) EXPECT_GE(other.cost_us, plan.cost_us);
}

TEST(PlaceServers, OnHostsOfTheirOwn) {
  const Cluster cluster = plain_cluster();
  EXPECT_EQ(servers(cluster, job_of(4, 2, ServersOn::kDedicated), {2, 2, 2, 2}), "c 500, d 500");
  EXPECT_EQ(servers(cluster, job_of(4, 3, ServersOn::kDedicated), {2, 2, 2, 2}),
            "3 servers need hosts without ranks, but only 2 of 4 hosts can be without ranks; use "
            "more hosts or fewer servers, or place servers beside ranks (spread)");
}

TEST(PlaceServers, OnNamedHosts) {
  const Cluster cluster = plain_cluster();
  JobShape job = job_of(4, 2, ServersOn::kHosts);
  job.server_hosts = {"d", "b"};
  EXPECT_EQ(servers(cluster, job, {2, 2, 0, 0}).substr(0, 2), "b ");
  job.server_hosts = {"d"};
  EXPECT_EQ(servers(cluster, job, {2, 2, 0, 0}), "d 500, d 500");
  job.server_hosts = {"d", "x\x1b", "y"};
  EXPECT_EQ(servers(cluster, job, {2, 2, 0, 0}),
            "servers cannot be on \"x?\" and \"y\": not a host of this job");
  job.server_hosts.clear();
  EXPECT_EQ(servers(cluster, job, {2, 2, 0, 0}),
            "servers must be on named hosts, but no host is named");
}

TEST(PlaceServers, SitOnCpusThatNoRankHas) {
  const Cluster cluster = plain_cluster();
  JobShape job = job_of(2, 2, ServersOn::kSpread);
  const Plan shared = place(cluster, job, {1, 1, 0, 0}).value();
  ASSERT_EQ(shared.servers.size(), 2U);
  const auto on_a = std::ranges::find_if(
      shared.servers, [](const PlacedServer& one) { return one.place.host == 0; });
  if (on_a != shared.servers.end()) {
    EXPECT_TRUE(on_a->place.seat.shares_cpus);
    EXPECT_EQ(
        on_a->place.seat.why,
        "a share of NUMA node 0; eth0 via PHB; shares CPUs with ranks, which use all of them");
  }
  job.cores_each = 3;
  job.servers_on = ServersOn::kHosts;
  job.server_hosts = {"a"};
  const Plan apart = place(cluster, job, {1, 1, 0, 0}).value();
  ASSERT_EQ(apart.servers.size(), 2U);
  EXPECT_EQ(apart.ranks[0].seat.cpus.to_text(), "0-2");
  EXPECT_EQ(apart.servers[0].place.seat.cpus.to_text(), "3-8");
  EXPECT_EQ(apart.servers[1].place.seat.cpus.to_text(), "9-15");
  EXPECT_FALSE(apart.servers[0].place.seat.shares_cpus);
  EXPECT_EQ(apart.servers[0].place.seat.nic, 0);
}

// Ranks on each host that has a slot, with the best split for where they are.
double cheapest_of_all(const Cluster& cluster, const JobShape& job, std::vector<int> slots,
                       std::vector<int> host_of) {
  const HostLinks links(cluster);
  const ServerRules rules(cluster, job, links);
  if (static_cast<int>(host_of.size()) == job.ranks) {
    const auto split = rules.split(host_of);
    if (!split) return std::numeric_limits<double>::infinity();
    std::vector<Placed> ranks;
    for (const int host : host_of) ranks.push_back({.host = host});
    std::vector<PlacedServer> servers;
    const std::vector<int> counts = rules.servers_by_host(*split);
    for (std::size_t host = 0; host < counts.size(); ++host)
      for (int i = 0; i < counts[host]; ++i)
        servers.push_back({.place = {.host = static_cast<int>(host), .seat = {.nic = 0}},
                           .share = split->shares[host] / counts[host]});
    double sum = 0;
    for (const CostPart& part : cost_parts(cluster, job, ranks, servers)) sum += part.us;
    return sum;
  }
  double cheapest = std::numeric_limits<double>::infinity();
  for (std::size_t host = 0; host < slots.size(); ++host) {
    if (slots[host] == 0) continue;
    --slots[host];
    host_of.push_back(static_cast<int>(host));
    cheapest = std::min(cheapest, cheapest_of_all(cluster, job, slots, host_of));
    host_of.pop_back();
    ++slots[host];
  }
  return cheapest;
}

TEST(PlaceServers, NoPlacementOfTheRanksIsCheaper) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    Cluster cluster = plain_cluster();
    for (int from = 0; from < 4; ++from)
      for (int to = 0; to < 4; ++to)
        if (from != to && random.chance(0.5))
          cluster.ways.push_back({.from = from,
                                  .to = to,
                                  .mb_per_s = 100 + random.unit() * 2000,
                                  .latency_us = random.unit() * 100});
    JobShape job{.ranks = 4, .servers = 1 + static_cast<int>(random.below(5))};
    job.dimensions = parse_dimensions(seed % 2 == 0 ? "dp=" : "tp=2,dp=", 4).value();
    if (job.servers < 3 && random.chance(0.5)) job.servers_on = ServersOn::kDedicated;
    const std::vector<int> slots = {2, 2, 2, 2};
    const auto plan = place(cluster, job, slots);
    ASSERT_TRUE(plan.ok()) << seed << ": " << plan.status().text();
    const double cheapest = cheapest_of_all(cluster, job, slots, {});
    EXPECT_NEAR(plan->cost_us, cheapest, 1e-6 * cheapest) << "seed " << seed;
  }
}

TEST(PlaceServers, WhatElseCouldBeIsTold) {
  const Plan plan = place(plain_cluster(), job_of(3, 3, ServersOn::kSpread), {2, 2, 2, 2}).value();
  double sum = 0;
  for (const PlacedServer& server : plan.servers) sum += server.share;
  EXPECT_NEAR(sum, 1, 1e-9);
  EXPECT_TRUE(std::ranges::any_of(plan.reasons, [](const std::string& reason) {
    return reason.starts_with("Servers: ");
  })) << testing::PrintToString(plan.reasons);
  const Plan apart =
      place(plain_cluster(), job_of(3, 1, ServersOn::kDedicated), {1, 1, 1, 1}).value();
  for (const Alternative& other : apart.alternatives) EXPECT_GE(other.cost_us, apart.cost_us);
}

}  // namespace
}  // namespace paceline::topology
