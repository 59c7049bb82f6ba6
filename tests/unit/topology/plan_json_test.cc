#include "topology/read/plan_json.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/topology/host_words.h"
#include "tests/unit/topology/many_hosts.h"
#include "tests/unit/topology/two_hosts.h"
#include "topology/render/plan_text.h"

namespace paceline::topology {
namespace {

Result<Plan> read(const std::string& text, const Cluster& cluster) {
  return read_plan({"plan.json", text}, cluster);
}

// A plan of one rank on host a, with more of it, and with more beside it.
std::string short_plan(const std::string& more_of_rank, const std::string& more = "") {
  return R"({"paceline_plan": 1, "ranks": [{"rank": 0, "host": "a")" + more_of_rank + "}]" + more +
         "}";
}

std::string plan_error(const std::string& text, const Cluster& cluster = two_hosts()) {
  const std::string error = read(text, cluster).status().text();
  const std::string file = "plan.json: ";
  EXPECT_TRUE(error.starts_with(file)) << error;
  return error.substr(std::min(file.size(), error.size()));
}

std::string error_of_rank(const std::string& more) { return plan_error(short_plan(more)); }
std::string error_beside(const std::string& more) { return plan_error(short_plan("", more)); }

void expect_same(const Plan& a, const Plan& b) {
  EXPECT_EQ(a.ranks, b.ranks);
  EXPECT_EQ(a.servers, b.servers);
  EXPECT_EQ(a.cost_us, b.cost_us);
  EXPECT_EQ(a.parts, b.parts);
  EXPECT_EQ(a.reasons, b.reasons);
  EXPECT_EQ(a.alternatives, b.alternatives);
}

void expect_read_back(const Plan& plan, const Cluster& cluster) {
  const std::string text = plan_json_text(cluster, plan);
  const auto again = read(text, cluster);
  ASSERT_TRUE(again.ok()) << again.status().text() << "\n" << text;
  expect_same(*again, plan);
  EXPECT_EQ(plan_json_text(cluster, *again), text);
}

// Something in every field.
Plan full_plan(const Cluster& cluster) {
  Plan plan = seated(cluster, 2);
  for (Placed& rank : plan.ranks) rank.seat.why = "near";
  plan.servers = {
      {.place = {.host = 1, .seat = {.nic = 1, .cpus = cpus("7"), .why = "so"}}, .share = 0.25},
      {.place = {.host = 0}, .share = 0.75}};
  plan.servers[0].place.seat.shares_cpus = true;
  plan.cost_us = 12.34;
  plan.parts = {{"dp: all-reduce of 4 ranks", 0.1}, {"", 12.24}};
  plan.reasons = {"Because \"a\" is near.", "é"};
  plan.alternatives = {{"the other way round", 1e9}};
  return plan;
}

TEST(PlanJson, IsReadBackAsItWas) {
  const Cluster cluster = two_hosts();
  expect_read_back(full_plan(cluster), cluster);
  Plan thirds = full_plan(cluster);
  thirds.servers[0].share = 1.0 / 3;
  thirds.servers[1].share = 2.0 / 3;
  expect_read_back(thirds, cluster);
  expect_read_back(seated(cluster, 9), cluster);
  EXPECT_TRUE(seated(cluster, 9).ranks[0].seat.shares_cpus) << "there are 8 CPUs";
}

TEST(PlanJson, IsReadBackOnAnyMachine) {
  for (const HostModel& host : many_hosts()) {
    if (host.cpus.is_empty() || host.name.find('\xff') != std::string::npos) continue;
    const Cluster cluster{.machines = {host}, .hosts = {{.name = "h"}}};
    Plan plan;
    for (std::size_t i = 0; i < std::max<std::size_t>({1, host.gpus.size(), host.nics.size()});
         ++i) {
      Placed& rank = plan.ranks.emplace_back();
      if (i < host.gpus.size()) rank.seat.gpu = static_cast<int>(i);
      if (i < host.nics.size()) rank.seat.nic = static_cast<int>(i);
    }
    expect_read_back(plan, cluster);
  }
}

TEST(PlanJson, HasALineForEachRank) {
  const Cluster cluster = two_hosts();
  EXPECT_EQ(plan_json_text(cluster, full_plan(cluster)), R"({
  "paceline_plan": 1,
  "world_size": 4,
  "cost_us": 12.34,
  "parts": [
    {"what":"dp: all-reduce of 4 ranks","us":0.1},
    {"what":"","us":12.24}
  ],
  "reasons": [
    "Because \"a\" is near.",
    "é"
  ],
  "alternatives": [
    {"what":"the other way round","cost_us":1000000000.0}
  ],
  "hosts": [
    {"name":"a","product":"A server","cpus":"0-7","gpus":3},
    {"name":"b","cpus":"4-7","gpus":0}
  ],
  "ranks": [
    {"rank":0,"host":"a","cpus":"0-1","numa_nodes":[0],"gpu":{"name":"cuda0","bus":)"
                                                         R"("0000:03:00.0"},"nic":"mlx5_0",)"
                                                         R"("shares_cpus":false,"why":"near"},
    {"rank":1,"host":"a","cpus":"2-3","numa_nodes":[0],"gpu":{"name":"cuda1","bus":)"
                                                         R"("0000:04:00.0"},"nic":"mlx5_1",)"
                                                         R"("shares_cpus":false,"why":"near"},
    {"rank":2,"host":"b","cpus":"4-5","numa_nodes":[1],"gpu":null,"nic":"mlx5_1",)"
                                                         R"("shares_cpus":false,"why":"near"},
    {"rank":3,"host":"b","cpus":"6-7","numa_nodes":[1],"gpu":null,"nic":"mlx5_0",)"
                                                         R"("shares_cpus":false,"why":"near"}
  ],
  "servers": [
    {"host":"b","cpus":"7","numa_nodes":[],"gpu":null,"nic":"mlx5_1","shares_cpus":true,)"
                                                         R"("why":"so","share":0.25},
    {"host":"a","numa_nodes":[],"gpu":null,"nic":null,"shares_cpus":false,"why":"","share":0.75}
  ]
}
)");
}

TEST(PlanJson, ManyRanksAreWrittenAndReadSoon) {
  const Cluster cluster = alike_hosts(1024);
  Plan plan;
  const Plan one = seated(alike_hosts(1), 8);
  for (int host = 0; host < 1024; ++host) {
    for (const Placed& rank : one.ranks) {
      plan.ranks.push_back(rank);
      plan.ranks.back().host = host;
    }
  }
  ASSERT_EQ(plan.ranks.size(), 8192U);
  expect_read_back(plan, cluster);
}

TEST(PlanJson, APlanByHandNeedsRanksAndHostsOnly) {
  const Cluster cluster = two_hosts();
  const auto plan = read(R"({"paceline_plan": 1, "ranks": [
      {"rank": 2, "host": "b"},
      {"rank": 0, "host": "a", "cpus": "0-1"},
      {"rank": 1, "host": "a", "cpus": "1", "gpu": "cuda1", "nic": null, "numa_nodes": [1, 0, 1]}
    ]})",
                         cluster);
  ASSERT_TRUE(plan.ok()) << plan.status().text();
  Plan expected;
  expected.ranks = {
      {.host = 0, .seat = {.cpus = cpus("0-1"), .shares_cpus = true}},
      {.host = 0, .seat = {.gpu = 1, .cpus = cpus("1"), .numa_nodes = {0, 1}, .shares_cpus = true}},
      {.host = 1}};
  expect_same(*plan, expected);
}

TEST(PlanJson, SharedCpusAreSeenAndNotBelieved) {
  const Cluster cluster = two_hosts();
  const auto plan = read(R"({"paceline_plan": 1, "ranks": [
      {"rank": 0, "host": "a", "cpus": "4-5", "shares_cpus": true},
      {"rank": 1, "host": "b", "cpus": "4-5", "shares_cpus": true},
      {"rank": 2, "host": "a", "cpus": "6", "shares_cpus": false},
      {"rank": 3, "host": "a", "cpus": "6-7", "shares_cpus": false}],
    "servers": [{"host": "b", "cpus": "5"}, {"host": "b", "cpus": "6"}]})",
                         cluster);
  ASSERT_TRUE(plan.ok()) << plan.status().text();
  std::vector<bool> shared;
  for (const Placed& rank : plan->ranks) shared.push_back(rank.seat.shares_cpus);
  EXPECT_EQ(shared, (std::vector<bool>{false, false, true, true}));
  EXPECT_TRUE(plan->servers[0].place.seat.shares_cpus) << "with a rank";
  EXPECT_FALSE(plan->servers[1].place.seat.shares_cpus);
}

TEST(PlanJson, ServersWithoutSharesHaveTheSame) {
  const std::string two = R"(, "servers": [{"host": "a"}, {"host": "b"}])";
  EXPECT_EQ(read(short_plan("", two), two_hosts())->servers[1].share, 0.5);
  EXPECT_EQ(error_beside(R"(, "servers": [{"host": "a", "share": 1}, {"host": "b"}])"),
            "servers: only 1 of 2 servers have a share; set it for all or for none");
  EXPECT_EQ(error_beside(R"(, "servers": [{"host": "a", "share": 0.75}])"),
            "servers: shares sum to 0.75, but must sum to 1");
  EXPECT_EQ(error_beside(R"(, "servers": [{"host": "a", "share": -1}])"),
            "servers[0].share: -1 is out of range: must be 0 or more");
  EXPECT_EQ(error_beside(R"(, "servers": {})"), "servers: must be a list");
  EXPECT_EQ(error_beside(R"(, "servers": [{"rank": 1}])"),
            "servers[0].rank: unknown key; known keys are host, cpus, numa_nodes, gpu, nic, "
            "shares_cpus, why and share");
}

TEST(PlanJson, WhatStrangersWroteDisturbsNoTerminal) {
  const auto plan = read(short_plan(R"(, "why": "a\u001bb")",
                                    R"(, "reasons": ["\n"], "parts": [{"what": "\u0007"}],
                                         "alternatives": [{"what": "\t"}])"),
                         two_hosts());
  ASSERT_TRUE(plan.ok()) << plan.status().text();
  EXPECT_EQ(plan->ranks[0].seat.why, "a?b");
  EXPECT_EQ(plan->reasons[0] + plan->parts[0].what + plan->alternatives[0].what, "???");
}

TEST(PlanJson, RefusesWhatIsNoPlan) {
  EXPECT_EQ(read("{\n]", two_hosts()).status().text(), "plan.json:2: invalid JSON from here on");
  EXPECT_EQ(plan_error("1"), "must be an object");
  EXPECT_EQ(plan_error("{}"), "paceline_plan: is missing");
  EXPECT_EQ(plan_error(R"({"paceline_plan": "1"})"),
            "paceline_plan: must be 1, the only one that is known");
  EXPECT_EQ(plan_error(R"({"paceline_plan": 1, "rank": 1})"),
            "rank: unknown key; known keys are paceline_plan, world_size, cost_us, parts, "
            "reasons, alternatives, hosts, ranks and servers");
  EXPECT_EQ(plan_error(std::string(kMostPlanBytes + 1, ' ')), "larger than 64 MiB");
  EXPECT_EQ(error_beside(R"(, "cost_us": -1)"), "cost_us: -1 is out of range: must be 0 or more");
  EXPECT_EQ(error_beside(R"(, "parts": [{"us": "1"}])"), "parts[0].us: must be a number");
  EXPECT_EQ(error_beside(R"(, "parts": [{"cost": 1}])"),
            "parts[0].cost: unknown key; known keys are what and us");
  EXPECT_EQ(error_beside(R"(, "reasons": [1])"), "reasons[0]: must be a text");
  EXPECT_EQ(error_beside(R"(, "alternatives": [{"us": 1}])"),
            "alternatives[0].us: unknown key; known keys are what and cost_us");
}

TEST(PlanJson, HasEachRankOnce) {
  const auto ranks = [](const std::string& list) {
    return plan_error(R"({"paceline_plan": 1, "ranks": )" + list + "}");
  };
  EXPECT_EQ(plan_error(R"({"paceline_plan": 1})"), "ranks: is missing");
  EXPECT_EQ(ranks("{}"), "ranks: must be a list");
  EXPECT_EQ(ranks("[]"), "ranks: must name at least one rank");
  EXPECT_EQ(ranks(R"([{"host": "a"}])"), "ranks[0].rank: is missing");
  EXPECT_EQ(ranks(R"([{"rank": 1, "host": "a"}, {"rank": 1, "host": "a"}])"),
            "ranks[1].rank: rank 1 occurs twice");
  EXPECT_EQ(ranks(R"([{"rank": 0, "host": "a"}, {"rank": 2, "host": "a"}])"),
            "ranks[1].rank: rank 2 is out of range: 0 to 1");
  EXPECT_EQ(ranks(R"([{"rank": -1}])"), "ranks[0].rank: -1 is out of range");
  EXPECT_EQ(ranks(R"([{"rnk": 0}])"),
            "ranks[0].rnk: unknown key; known keys are rank, host, cpus, numa_nodes, gpu, nic, "
            "shares_cpus and why");
  EXPECT_EQ(error_beside(R"(, "world_size": 2)"), "world_size: must be 1, the number of ranks");
}

TEST(PlanJson, RefusesWhatTheHostDoesNotHave) {
  EXPECT_EQ(plan_error(R"({"paceline_plan": 1, "ranks": [{"rank": 0, "host": "c"}]})"),
            "ranks[0].host: there is no host \"c\"; known are: a and b");
  EXPECT_EQ(error_of_rank(R"(, "cpus": "6-9")"),
            "ranks[0].cpus: CPU 8 is not usable on host \"a\"; usable CPUs: 0-7");
  EXPECT_EQ(error_beside(R"(, "servers": [{"host": "b", "cpus": "3-4"}])"),
            "servers[0].cpus: CPU 3 is not usable on host \"b\"; usable CPUs: 4-7");
  EXPECT_EQ(error_of_rank(R"(, "cpus": "1,")"), "ranks[0].cpus: \"1,\" is not a list of CPUs");
  EXPECT_EQ(error_of_rank(R"(, "numa_nodes": [0, 2])"),
            "ranks[0].numa_nodes[1]: there is no NUMA node 2 on host \"a\"; known are: 0 and 1");
  EXPECT_EQ(error_of_rank(R"(, "nic": "eth9")"),
            "ranks[0].nic: there is no NIC \"eth9\" on host \"a\"; known are: mlx5_0 and mlx5_1");
  EXPECT_EQ(error_beside(R"(, "servers": [{"host": "b", "gpu": "cuda0"}])"),
            "servers[0].gpu: there is no GPU \"cuda0\" on host \"b\"");
}

TEST(PlanJson, AGpuIsTheOneAtTheSameAddress) {
  const Cluster cluster = two_hosts();
  const auto gpu = [&](const std::string& text) {
    return read(short_plan(R"(, "gpu": )" + text), cluster);
  };
  EXPECT_EQ(gpu("\"cuda2\"")->ranks[0].seat.gpu, 2);
  EXPECT_EQ(gpu("null")->ranks[0].seat.gpu, kNone);
  EXPECT_EQ(gpu(R"({"name": "cuda1", "bus": "00000000:04:00.0"})")->ranks[0].seat.gpu, 1);
  EXPECT_EQ(error_of_rank(R"(, "gpu": {"name": "cuda1", "bus": "0000:07:00.0"})"),
            "ranks[0].gpu.bus: the plan has cuda1 at 0000:07:00.0, but host \"a\" has it at "
            "0000:04:00.0");
  EXPECT_EQ(error_of_rank(R"(, "gpu": {"bus": "0000:07:00.0"})"), "ranks[0].gpu.name: is missing");
  EXPECT_EQ(error_of_rank(R"(, "gpu": {"name": "cuda9"})"),
            "ranks[0].gpu.name: there is no GPU \"cuda9\" on host \"a\"; known are: cuda0, cuda1 "
            "and cuda2");
  EXPECT_EQ(error_of_rank(R"(, "gpu": 1)"), "ranks[0].gpu: must be an object");
  EXPECT_EQ(error_of_rank(R"(, "gpu": {"name": "cuda1", "bus": "4"})"),
            "ranks[0].gpu.bus: \"4\" is not a PCI address");
}

TEST(PlanJson, AGpuMayBeCalledByAnyNameThatOnlyItHas) {
  Cluster cluster = two_hosts();
  std::vector<Gpu>& gpus = cluster.machines[0].gpus;
  gpus[0].names = {"cuda0", "cuda1", "nvml7", "same"};
  gpus[1].names = {"cuda1", "same"};
  const auto gpu = [&](const std::string& name) {
    return read(short_plan(R"(, "gpu": ")" + name + "\""), cluster);
  };
  EXPECT_EQ(gpu("nvml7")->ranks[0].seat.gpu, 0);
  EXPECT_EQ(gpu("cuda1")->ranks[0].seat.gpu, 1) << "its first name counts more";
  EXPECT_FALSE(gpu("same").ok());
}

TEST(PlanJson, DevicesOfTheSameNameAreToldByTheirPlace) {
  Cluster cluster = two_hosts();
  for (Gpu& gpu : cluster.machines[0].gpus) gpu.name = "card";
  cluster.machines[0].nics[1].name = "";
  Plan plan = seated(cluster, 2);
  plan.ranks[0].seat.gpu = 2;
  plan.ranks[0].seat.nic = 1;
  EXPECT_NE(plan_json_text(cluster, plan)
                .find(R"("gpu":{"name":"#2","bus":"0000:05:00.0"})"
                      R"(,"nic":"#1")"),
            std::string::npos);
  expect_read_back(plan, cluster);
}

TEST(PlanJson, APlanForAnotherMachineIsRefused) {
  const auto host = [](const std::string& facts) {
    return error_beside(R"(, "hosts": [{"name": "a")" + facts + "}]");
  };
  EXPECT_EQ(host(R"(, "product": "B")"),
            "hosts[0].product: the plan was made for \"B\", but host \"a\" is \"A server\"");
  EXPECT_EQ(host(R"(, "cpus": "0-15")"),
            "hosts[0].cpus: the plan was made for CPUs 0-15, but host \"a\" has 0-7");
  EXPECT_EQ(host(R"(, "gpus": 8)"),
            "hosts[0].gpus: the plan was made for 8 GPUs, but host \"a\" has 3");
  EXPECT_EQ(error_beside(R"(, "hosts": [{"name": "c"}])"),
            "hosts[0].name: there is no host \"c\"; known are: a and b");
  EXPECT_EQ(error_beside(R"(, "hosts": [{"host": "a"}])"),
            "hosts[0].host: unknown key; known keys are name, product, cpus and gpus");
  const std::string nothing_known = R"(, "hosts": [{"name": "b", "product": "B"}])";
  EXPECT_TRUE(read(short_plan("", nothing_known), two_hosts()).ok());

  const Cluster cluster = two_hosts();
  Cluster other = cluster;
  other.machines[0].gpus[1].pci.bus = known(BusId{.bus = 15});
  EXPECT_EQ(plan_error(plan_json_text(cluster, seated(cluster, 2)), other),
            "ranks[1].gpu.bus: the plan has cuda1 at 0000:04:00.0, but host \"a\" has it at "
            "0000:0f:00.0");
}

TEST(PlanJson, AHostMayHaveNoCpuThatIsKnown) {
  Cluster cluster = two_hosts();
  cluster.machines[0].cpus = CpuSet();
  EXPECT_TRUE(read(short_plan(""), cluster).ok());
  EXPECT_EQ(plan_error(short_plan(R"(, "cpus": "0")"), cluster),
            "ranks[0].cpus: CPU 0 is not usable on host \"a\"; usable CPUs: unknown");
}

}  // namespace
}  // namespace paceline::topology
