#include "topology/render/plan_text.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/topology/many_hosts.h"
#include "tests/unit/topology/two_hosts.h"
#include "topology/render/plain_text.h"

namespace paceline::topology {
namespace {

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    longest = std::max(longest, characters(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return longest;
}

TEST(PlanText, TellsEachHostItsRanksAndTheCost) {
  const Cluster cluster = two_hosts();
  Plan plan = seated(cluster, 2);
  plan.servers = {
      {.place = {.host = 1, .seat = {.nic = 1, .why = "its links are idle"}}, .share = 0.25},
      {.place = {.host = 1}, .share = 0.75}};
  plan.cost_us = 1234;
  plan.parts = {{"tp: all-reduce of 2 ranks", 34}, {"dp: all-reduce of 2 ranks", 1200}};
  plan.reasons = {"The ranks of tp share a host.",
                  "Each server has as many of the parameters as its host's links are idle for, "
                  "since all of them end at the same time then."};
  plan.alternatives = {{"tp across hosts: its messages would go by the network", 5.6e6}};
  EXPECT_EQ(plan_text(cluster, plan),
            R"(4 ranks and 2 servers on 2 hosts; estimated communication of a step: 1.2 ms

a (2 ranks):
rank  GPU    NIC     CPUs  memory  why
   0  cuda0  mlx5_0  0-1   0       cuda0 is near NUMA node 0; mlx5_0 via PIX
   1  cuda1  mlx5_1  2-3   0       cuda1 is near NUMA node 0; mlx5_1 via SYS

b (2 ranks):
  rank  GPU  NIC     CPUs  memory  why
     2  -    mlx5_1  4-5   1       a share of NUMA node 1; mlx5_1 via PHB
     3  -    mlx5_0  6-7   1       a share of NUMA node 1; mlx5_0 via SYS
server  -    mlx5_1  -     -       25 % of the parameters; its links are idle
server  -    -       -     -       75 % of the parameters

Estimated communication of a step, for assumed sizes
   34 us  tp: all-reduce of 2 ranks
  1.2 ms  dp: all-reduce of 2 ranks

Why
  The ranks of tp share a host.
  Each server has as many of the parameters as its host's links are idle for, since all of them
    end at the same time then.

Alternatives
  5.6 s  tp across hosts: its messages would go by the network
)");
}

TEST(PlanText, HostsThatAreAlikeAreToldTogether) {
  const Cluster cluster = alike_hosts(1024);
  Plan plan = seated(cluster, 2);
  EXPECT_EQ(plan_text(cluster, plan), R"(2048 ranks on 1024 hosts

n[1-1024] (1024 hosts with 2 ranks each; first ranks: 0, 2, 4, 6 and so on):
rank  GPU    NIC     CPUs  memory  why
  +0  cuda0  mlx5_0  0-1   0       cuda0 is near NUMA node 0; mlx5_0 via PIX
  +1  cuda1  mlx5_1  2-3   0       cuda1 is near NUMA node 0; mlx5_1 via SYS
)");
  std::swap(plan.ranks[4], plan.ranks[5]);
  EXPECT_EQ(plan_text(cluster, plan), R"(2048 ranks on 1024 hosts

n[1-2] and n[4-1024] (1023 hosts with 2 ranks each; first ranks: 0, 2, 6, 8 and so on):
rank  GPU    NIC     CPUs  memory  why
  +0  cuda0  mlx5_0  0-1   0       cuda0 is near NUMA node 0; mlx5_0 via PIX
  +1  cuda1  mlx5_1  2-3   0       cuda1 is near NUMA node 0; mlx5_1 via SYS

n3 (2 ranks):
rank  GPU    NIC     CPUs  memory  why
   4  cuda1  mlx5_1  2-3   0       cuda1 is near NUMA node 0; mlx5_1 via SYS
   5  cuda0  mlx5_0  0-1   0       cuda0 is near NUMA node 0; mlx5_0 via PIX
)");
}

TEST(PlanText, RanksThatGoRoundTheHostsAreToldTogetherToo) {
  const Cluster cluster = alike_hosts(3);
  const Plan by_host = seated(cluster, 2);
  Plan plan;
  for (const std::size_t rank : {0U, 2U, 4U, 1U, 3U, 5U}) plan.ranks.push_back(by_host.ranks[rank]);
  EXPECT_EQ(plan_text(cluster, plan), R"(6 ranks on 3 hosts

n[1-3] (3 hosts with 2 ranks each; first ranks: 0, 1 and 2):
rank  GPU    NIC     CPUs  memory  why
  +0  cuda0  mlx5_0  0-1   0       cuda0 is near NUMA node 0; mlx5_0 via PIX
  +3  cuda1  mlx5_1  2-3   0       cuda1 is near NUMA node 0; mlx5_1 via SYS
)");
}

TEST(PlanText, ShortPlansAreShort) {
  const Cluster cluster = two_hosts();
  const Plan plan{.ranks = {{.host = 0}}};
  EXPECT_EQ(plan_text(cluster, plan),
            "1 rank on 1 host of 2\n"
            "\n"
            "a (1 rank):\n"
            "rank  GPU  NIC  CPUs  memory  why\n"
            "   0  -    -    -     -\n");
}

TEST(PlanText, NoLineIsLongerThan100Columns) {
  const std::string words = "many words that say why and one, which is " + std::string(150, 'x');
  for (HostModel& host : many_hosts()) {
    Cluster cluster{.machines = {host}};
    Plan plan;
    for (int i = 0; i < 30; ++i) {
      cluster.hosts.push_back({.name = std::string(40, 'h') + std::to_string(i * i)});
      Seat seat{.cpus = host.cpus, .why = words};
      for (const NumaNode& node : host.numa_nodes) seat.numa_nodes.push_back(node.number);
      if (!host.gpus.empty()) seat.gpu = i % static_cast<int>(host.gpus.size());
      if (!host.nics.empty()) seat.nic = i % static_cast<int>(host.nics.size());
      plan.ranks.push_back({.host = i, .seat = std::move(seat)});
    }
    plan.cost_us = 1e300;
    plan.parts = {{words, 1e300}, {words, 0}};
    plan.reasons = {words};
    plan.alternatives = {{words, 1}};
    plan.servers = {{.place = plan.ranks[0], .share = 1}};
    EXPECT_LE(longest_line(plan_text(cluster, plan)), 100U) << plan_text(cluster, plan);
  }
}

}  // namespace
}  // namespace paceline::topology
