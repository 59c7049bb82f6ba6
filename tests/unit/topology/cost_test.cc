#include "topology/placement/cost/cost.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/topology/small_cluster.h"

namespace paceline::topology {
namespace {

JobShape job_of(const std::string& shape, int ranks, double mb) {
  JobShape job{.ranks = ranks, .dimensions = parse_dimensions(shape, ranks).value()};
  for (Dimension& one : job.dimensions) one.mb_a_step = mb;
  return job;
}

// By rank, a host and a GPU.
std::vector<Placed> at(const std::vector<std::pair<int, int>>& places) {
  std::vector<Placed> ranks;
  for (const auto& [host, gpu] : places) ranks.push_back({.host = host, .seat = {.gpu = gpu}});
  return ranks;
}

std::vector<Placed> on(const std::vector<int>& hosts) {
  std::vector<Placed> ranks;
  for (const int host : hosts) ranks.push_back({.host = host});
  return ranks;
}

double us(const Cluster& cluster, const JobShape& job, const std::vector<Placed>& ranks,
          const std::vector<PlacedServer>& servers = {}) {
  double sum = 0;
  for (const CostPart& part : cost_parts(cluster, job, ranks, servers)) sum += part.us;
  return sum;
}

// Without latency, 1000 MB/s each way.
Cluster simple_cluster(int hosts) {
  Cluster cluster = cluster_of(plain_host(0), {"a", "b", "c", "d"});
  cluster.hosts.resize(static_cast<std::size_t>(hosts));
  cluster.network = {.mb_per_s = 1000, .latency_us = 0};
  return cluster;
}

TEST(Cost, OfARingIsTheBusiestHosts) {
  const Cluster cluster = simple_cluster(2);
  const JobShape job = job_of("dp=", 4, 400);
  EXPECT_DOUBLE_EQ(us(cluster, job, on({0, 0, 1, 1})), 600'000 + 6)
      << "2(k-1)/k of 400 MB once, and 6 rounds in memory";
  EXPECT_DOUBLE_EQ(us(cluster, job, on({0, 1, 0, 1})), 1'200'000) << "and twice";
  EXPECT_DOUBLE_EQ(us(cluster, job, on({0, 0, 0, 1})), 600'000 + 6);
}

TEST(Cost, OfTheOtherKindsOfTraffic) {
  const Cluster cluster = simple_cluster(4);
  EXPECT_DOUBLE_EQ(us(cluster, job_of("pp=", 4, 100), on({0, 1, 2, 3})), 200'000)
      << "both neighbours of those in the middle";
  EXPECT_DOUBLE_EQ(us(cluster, job_of("pp=", 2, 100), on({0, 1})), 100'000);
  EXPECT_DOUBLE_EQ(us(cluster, job_of("ep=", 4, 100), on({0, 1, 2, 3})), 75'000);
  EXPECT_DOUBLE_EQ(us(cluster, job_of("ep=", 4, 100), on({0, 0, 1, 1})), 100'000 + 3)
      << "2 ranks send a quarter to 2 others each";
}

TEST(Cost, PartsAreNamedAndAddedUp) {
  const auto parts =
      cost_parts(simple_cluster(2), job_of("tp=2,pp=1,dp=", 4, 100), on({0, 0, 1, 1}), {});
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].what, "tp: all-reduce of 2 ranks, 100 MB each");
  EXPECT_DOUBLE_EQ(parts[0].us, 2 * 1 + 100 * 100) << "2 rounds in memory, 100 us for a MB";
  EXPECT_EQ(parts[1].what, "dp: all-reduce of 2 ranks, 100 MB each");
  EXPECT_DOUBLE_EQ(parts[1].us, 200'000) << "2 rings, each 100 MB";
  const auto others = cost_parts(simple_cluster(1), job_of("ep=2,pp=", 4, 1), on({0, 0, 0, 0}), {});
  EXPECT_EQ(others[0].what, "ep: all-to-all of 2 ranks, 1 MB each");
  EXPECT_EQ(others[1].what, "pp: neighbours among 2 ranks, 1 MB each");
  EXPECT_TRUE(cost_parts(simple_cluster(1), job_of("dp=", 1, 1), on({0}), {}).empty());
}

TEST(Cost, RoundsWaitForTheLatestMessage) {
  Cluster cluster = simple_cluster(3);
  cluster.network.latency_us = 10;
  cluster.ways = {{.from = 0, .to = 1, .latency_us = 50}, {.from = 1, .to = 0, .latency_us = 7}};
  EXPECT_DOUBLE_EQ(us(cluster, job_of("dp=", 2, 0), on({0, 1})), 2 * 50);
  EXPECT_DOUBLE_EQ(us(cluster, job_of("dp=", 2, 0), on({0, 2})), 2 * 10);
  EXPECT_DOUBLE_EQ(us(cluster, job_of("dp=", 3, 0), on({0, 2, 1})), 4 * 10)
      << "nobody sends from the first to the second";
}

TEST(Cost, MeasuredWaysBoundAPairAndTheirHosts) {
  Cluster cluster = cluster_of(plain_host(8000), {"a", "b", "c"});
  cluster.network.latency_us = 0;
  cluster.ways = {{.from = 0, .to = 1, .mb_per_s = 100}, {.from = 0, .to = 2, .mb_per_s = 500}};
  const JobShape job = job_of("pp=", 2, 100);
  EXPECT_DOUBLE_EQ(us(cluster, job, on({0, 1})), 1'000'000) << "the way to b";
  EXPECT_DOUBLE_EQ(us(cluster, job, on({0, 2})), 200'000) << "the way to c";
  EXPECT_DOUBLE_EQ(us(cluster, job, on({1, 2})), 1'000'000) << "b gets no more than was measured";
  cluster.network.mb_per_s = 400;
  EXPECT_DOUBLE_EQ(us(cluster, job, on({0, 2})), 250'000) << "what is stated counts more";
}

TEST(Cost, HostsWithoutOtherWordsDoWhatTheirNicsDo) {
  const JobShape job = job_of("pp=", 2, 100);
  Cluster cluster = cluster_of(plain_host(8000), {"a", "b"});
  cluster.network.latency_us = 0;
  EXPECT_DOUBLE_EQ(us(cluster, job, on({0, 1})), 100'000);
  cluster.machines[0] = plain_host(0);
  EXPECT_DOUBLE_EQ(us(cluster, job, on({0, 1})), 80'000) << "10 Gbit/s";
}

TEST(Cost, RanksOfOneNicShareIt) {
  HostModel machine = plain_host(8000);
  machine.nics.push_back(machine.nics.front());
  machine.nics.back().name = "eth1";
  Cluster cluster = cluster_of(machine, {"a", "b"});
  cluster.network.latency_us = 0;
  const JobShape job = job_of("tp=2,dp=", 4, 100);
  std::vector<Placed> ranks = on({0, 0, 1, 1});
  const double tp_us = 2 * 1 + 100 * 100;
  EXPECT_DOUBLE_EQ(us(cluster, job, ranks), tp_us + 100'000) << "without seats each has its own";
  for (Placed& rank : ranks) rank.seat.nic = 1;
  EXPECT_DOUBLE_EQ(us(cluster, job, ranks), tp_us + 200'000);
  cluster.network.mb_per_s = 8000;
  EXPECT_DOUBLE_EQ(us(cluster, job, ranks), tp_us + 50'000)
      << "who states a host's rate knows its NICs: each does half of that";
}

TEST(Cost, InAHostThePathBetweenGpusCounts) {
  Cluster cluster = cluster_of(gpu_host(3, {20000}, 0), {"a"});
  const JobShape job = job_of("dp=", 2, 100);
  const double linked = us(cluster, job, at({{0, 0}, {0, 1}}));
  EXPECT_NEAR(linked, 100 * 50 + 2 * 0.7, 1e-6);
  EXPECT_GT(us(cluster, job, at({{0, 0}, {0, 2}})), 2 * linked);
  EXPECT_DOUBLE_EQ(us(cluster, job, at({{0, 1}, {0, 1}})), 100 * 2 + 2 * 0.5) << "one GPU";
  std::vector<Placed> mixed = at({{0, 1}, {0, kNone}});
  EXPECT_DOUBLE_EQ(us(cluster, job, mixed), 100 * 100 + 2 * 1) << "somewhere in memory";
  mixed[1].seat.numa_nodes = {0};
  EXPECT_DOUBLE_EQ(us(cluster, job, mixed), 100 * 1e6 / 7877 + 2 * 1) << "by PCIe";
}

TEST(Cost, ServersGetTheirShareFromEachRankAndSendItBack) {
  const Cluster cluster = simple_cluster(3);
  JobShape job = job_of("dp=", 2, 300);
  job.servers = 3;
  const std::vector<PlacedServer> servers = {{.place = {.host = 0}, .share = 0.25},
                                             {.place = {.host = 1}, .share = 0.25},
                                             {.place = {.host = 2}, .share = 0.5}};
  const auto parts = cost_parts(cluster, job, on({0, 1}), servers);
  ASSERT_EQ(parts.size(), 1U) << "the all-reduce goes through them";
  EXPECT_EQ(parts[0].what, "servers: buffers of 2 ranks to 3 servers and back");
  EXPECT_DOUBLE_EQ(parts[0].us, 300'000 + 2 * 1)
      << "a worker's host: 3/4 of its buffer and 1/4 of the other's; the third: half of both";
}

TEST(Cost, ServersTakeMeasuredWays) {
  Cluster cluster = simple_cluster(2);
  cluster.network.latency_us = 10;
  cluster.ways = {{.from = 0, .to = 1, .mb_per_s = 100, .latency_us = 5},
                  {.from = 1, .to = 0, .mb_per_s = 50}};
  JobShape job = job_of("dp=", 1, 10);
  job.servers = 1;
  const std::vector<PlacedServer> servers = {{.place = {.host = 1}, .share = 1}};
  EXPECT_DOUBLE_EQ(us(cluster, job, on({0}), servers), 2 * 10 + 200'000);
  cluster.ways[1].latency_us = 1;
  EXPECT_DOUBLE_EQ(us(cluster, job, on({0}), servers), 2 * 5 + 200'000)
      << "no message takes a way that nobody measured";
}

}  // namespace
}  // namespace paceline::topology
