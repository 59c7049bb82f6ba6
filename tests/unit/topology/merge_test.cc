#include "topology/read/merge.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/topology/host_words.h"
#include "topology/model/finish.h"

namespace paceline::topology {
namespace {

// Another source, which knows the GPUs and nothing else.
HostModel gpus_alone() {
  HostModel host{.sources = {"another"}};
  for (const Gpu& gpu : finished_small_host().gpus)
    host.gpus.push_back({.number = gpu.number,
                         .name = "nvml" + std::to_string(gpu.number),
                         .names = {"nvml" + std::to_string(gpu.number)},
                         .pci = {.bus = gpu.pci.bus}});
  return host;
}

TEST(Merge, LearnsWhatItDoesNotKnowAndFromWhom) {
  HostModel other = gpus_alone();
  other.gpus[2].model = known(std::string("H200"));
  other.gpus[1].names.push_back("renderD129");
  const HostModel host = merge(finished_small_host(), other).value();
  EXPECT_EQ(host.sources, (std::vector<std::string>{"a test", "another"}));
  EXPECT_EQ(*host.gpus[2].model, "H200");
  EXPECT_EQ(host.gpus[2].model.source, 1);
  EXPECT_EQ(host.gpus[2].name, "cuda2");
  EXPECT_EQ(host.gpus[1].names, (std::vector<std::string>{"cuda1", "nvml1", "renderD129"}));
  EXPECT_EQ(warnings_of(host), "");
}

TEST(Merge, TellsWhatIsSaidDifferently) {
  HostModel other = finished_small_host();
  other.sources = {"another"};
  other.gpus[0].near = known(place_of("4-7", 1));
  other.nics[0].rate_mbit = known(std::uint64_t{100000});
  other.links[0].count = 2;
  other.bridges[1].parent = kNone;
  other.bridges[1].kind = BridgeKind::kHost;
  const std::string warnings = warnings_of(merge(finished_small_host(), other).value());
  for (const char* expected :
       {"GPU cuda0 is near: NUMA node 0 (a test) or NUMA node 1 (another)\n",
        "NIC mlx5_0: Mbit/s: 200000 (a test) or 100000 (another)\n",
        "links of GPU 0: another reports 2 to GPU 1\n", "cuda0 to mlx5_0: PIX or PHB (another)\n"})
    EXPECT_NE(warnings.find(expected), std::string::npos) << expected << "in\n" << warnings;
}

TEST(Merge, TellsWhichDevicesOnlyOneOfThemNames) {
  HostModel other = gpus_alone();
  other.gpus[2].pci.bus = known(BusId{.bus = 0x77});
  const HostModel host = merge(finished_small_host(), other).value();
  EXPECT_EQ(host.gpus.size(), 4U);
  EXPECT_NE(warnings_of(host).find("GPU nvml2: only another reports it"), std::string::npos);
  EXPECT_NE(warnings_of(host).find("GPU cuda2: another does not report it"), std::string::npos);
}

TEST(Merge, ComparesWhatDividesTheCpus) {
  HostModel other = finished_small_host();
  other.sources = {"another"};
  other.numa_nodes.pop_back();
  EXPECT_NE(
      warnings_of(merge(finished_small_host(), other).value()).find("NUMA nodes: 2 or 1 (another)"),
      std::string::npos);
  other = finished_small_host();
  other.sources = {"another"};
  other.numa_nodes[1].cpus = CpuSet::parse("4-6").value();
  EXPECT_NE(warnings_of(merge(finished_small_host(), other).value())
                .find("NUMA node 1: CPUs 4-7, or node 1 with 4-6 (another)"),
            std::string::npos);
}

TEST(Merge, TakesTheTreeOfWhoHasOne) {
  HostModel bare = gpus_alone();
  const HostModel host = merge(bare, finished_small_host()).value();
  EXPECT_EQ(host.bridges.size(), 4U);
  EXPECT_EQ(host.gpus[0].pci.bridge, finished_small_host().gpus[0].pci.bridge);
  EXPECT_EQ(host.bridges[1].mb_per_s.source, 1);
  EXPECT_EQ(host.links.size(), 1U);
  EXPECT_EQ(host.nics.size(), 2U);
}

TEST(Merge, WithItselfChangesNothing) {
  EXPECT_TRUE(same_machine(merge(finished_small_host(), finished_small_host()).value(),
                           finished_small_host()));
  EXPECT_EQ(warnings_of(merge(finished_small_host(), finished_small_host()).value()), "");
}

TEST(Merge, WithItselfChangesNothingWhereTwoDevicesHaveOneAddress) {
  HostModel twins = small_host();
  twins.gpus[1].pci.bus = twins.gpus[0].pci.bus;
  twins.gpus[1].pci.mb_per_s = {};
  const HostModel host = finish(std::move(twins), 0).value();
  EXPECT_TRUE(same_machine(merge(host, host).value(), host));
}

TEST(Merge, WhatAMatrixStatesOfLinksCounts) {
  HostModel other = gpus_alone();
  other.stated = {
      {.a = {DeviceKind::kGpu, 0}, .b = {DeviceKind::kGpu, 1}, .kind = PathKind::kNvl, .links = 4}};
  EXPECT_EQ(warnings_of(merge(finished_small_host(), other).value()), "");
  HostModel without = small_host();
  without.links.clear();
  const HostModel host = merge(finish(std::move(without), 0).value(), other).value();
  ASSERT_EQ(host.links.size(), 1U);
  EXPECT_EQ(host.links[0].count, 4);
}

}  // namespace
}  // namespace paceline::topology
