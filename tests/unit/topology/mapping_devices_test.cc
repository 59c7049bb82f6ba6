#include "topology/placement/rules/mapping_devices.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/topology/eight_gpu_host.h"
#include "tests/unit/topology/host_words.h"
#include "tests/unit/topology/plain_machine.h"
#include "topology/placement/rules/mapping.h"

namespace paceline::topology {
namespace {

std::vector<CpuSet> near(const std::vector<const char*>& texts) {
  std::vector<CpuSet> sets;
  for (const char* const text : texts) sets.push_back(CpuSet::parse(text).value());
  return sets;
}

// GPU 0 and GPU 1 are near CPUs 0-3, GPU 2 near 4-7.
HostModel three_gpus() { return finished_small_host(); }

using Gpus = std::vector<int>;

TEST(MappingDevices, AreNearTheirRanksInTurn) {
  const HostModel host = three_gpus();
  EXPECT_EQ(spread_gpus(host, near({"0", "4", "1"})), (Gpus{0, 2, 1}));
  EXPECT_EQ(spread_gpus(host, near({"0", "4", "1", "5"})), (Gpus{0, 2, 1, 2}));
  EXPECT_EQ(spread_gpus(host, near({"0-7", "4-7"})), (Gpus{0, 2})) << "one has no other near";
}

TEST(MappingDevices, AreSharedEvenlyFirst) {
  const HostModel host = three_gpus();
  EXPECT_EQ(spread_gpus(host, near({"0", "1", "2"})), (Gpus{0, 1, 2})) << "the third is elsewhere";
  EXPECT_EQ(spread_gpus(host, near({"4", "5", "6", "7"})), (Gpus{2, 0, 1, 2}));
  EXPECT_EQ(spread_gpus(host, near({"0", "0", "0", "0", "0", "0"})), (Gpus{0, 1, 2, 0, 1, 2}));
}

TEST(MappingDevices, OfUnknownPlaceAreNearToNobody) {
  HostModel host = three_gpus();
  host.gpus[0].near = {};
  EXPECT_EQ(spread_gpus(host, near({"0", "1"})), (Gpus{1, 0}));
  host.gpus.clear();
  EXPECT_EQ(spread_gpus(host, near({"0", "1"})), (Gpus{kNone, kNone}));
}

TEST(MappingDevices, OfTheNetworkAreNearTheGpuOrTheMemory) {
  const HostModel host = three_gpus();
  EXPECT_EQ(nics_of_ranks(host, {0, 2}, near({"4", "0"})), (std::vector<int>{0, 1}));
  EXPECT_EQ(nics_of_ranks(host, {kNone, kNone}, near({"4", "0"})), (std::vector<int>{1, 0}));
}

Plan eight_ranks(const std::vector<int>& slots, bool uses_gpus) {
  Cluster cluster{.machines = {eight_gpu_host()}};
  for (std::size_t i = 0; i < slots.size(); ++i)
    cluster.hosts.push_back({.name = std::string(1, static_cast<char>('a' + i))});
  MappingRules rules;
  EXPECT_TRUE(parse_map_by("numa", rules).ok());
  EXPECT_TRUE(parse_bind_to("core", rules).ok());
  return map_ranks(cluster, {.ranks = 8, .uses_gpus = uses_gpus}, slots, rules).value();
}

TEST(MappingDevices, OfAMappedJobAreInItsSeats) {
  const Plan plan = eight_ranks({8}, true);
  Gpus gpus;
  for (const Placed& rank : plan.ranks) gpus.push_back(rank.seat.gpu);
  EXPECT_EQ(gpus, (Gpus{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(plan.ranks[5], (Placed{.host = 0,
                                   .seat = {.gpu = 3,
                                            .cpus = CpuSet::parse("17,81").value(),
                                            .numa_nodes = {1},
                                            .why = "mapped by numa: NUMA node 1; bound to core"}}));
  EXPECT_EQ(plan.reasons,
            (std::vector<std::string>{"ranks are placed by the options, not by cost: mapped by "
                                      "numa, ranked by numa, bound to core"}));
}

TEST(MappingDevices, OfTheNetworkAreForSeveralHosts) {
  const Plan plan = eight_ranks({4, 4}, true);
  EXPECT_EQ(plan.ranks[6].seat.gpu, 4);
  EXPECT_EQ(plan.ranks[6].seat.nic, 4);
  const Plan without = eight_ranks({4, 4}, false);
  EXPECT_EQ(without.ranks[6].seat.gpu, kNone);
  EXPECT_EQ(without.ranks[6].seat.nic, 4);
}

TEST(MappingDevices, KnowWhoSharesCpus) {
  const Cluster cluster{.machines = {plain_machine({.cores = 2})}, .hosts = {{.name = "a"}}};
  MappingRules rules{.map_by = Unit::kPackage};
  const Plan plan = map_ranks(cluster, {.ranks = 3}, {3}, rules).value();
  EXPECT_TRUE(plan.ranks[0].seat.shares_cpus);
  EXPECT_FALSE(plan.ranks[1].seat.shares_cpus);
  rules.bind_to = Unit::kNode;
  const Plan unbound = map_ranks(cluster, {.ranks = 3}, {3}, rules).value();
  EXPECT_FALSE(unbound.ranks[0].seat.shares_cpus);
  EXPECT_EQ(unbound.ranks[0].seat.why, "mapped by package: package 0; not bound");
}

TEST(MappingDevices, SayWhyRanksAreNotBound) {
  const Cluster cluster{.machines = {plain_machine({.cores = 1})}, .hosts = {{.name = "a"}}};
  const Plan plan =
      map_ranks(cluster, {.ranks = 3}, {3}, MappingRules{.map_by = Unit::kCore}).value();
  EXPECT_EQ(plan.ranks[2].seat.why,
            "mapped by core: CPUs 0-1; not bound: host a: 3 ranks cannot be bound to CPUs 0-3, "
            "with only 2 cores; use fewer ranks, or --bind-to core:overload-allowed");
}

}  // namespace
}  // namespace paceline::topology
