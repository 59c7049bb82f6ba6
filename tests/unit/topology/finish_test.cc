#include "topology/model/finish.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/topology/host_words.h"

namespace paceline::topology {
namespace {

TEST(Finish, GivesDevicesThePlaceOfTheirHostBridge) {
  const HostModel host = finished(small_host());
  EXPECT_EQ(*host.gpus[1].near, place_of("0-3", 0));
  EXPECT_EQ(*host.nics[1].near, place_of("4-7", 1));
  EXPECT_EQ(host.cpus.to_text(), "0-7");
  EXPECT_TRUE(host.warnings.empty());
}

TEST(Finish, CpusAndNodesOfAPlaceFollowFromEachOther) {
  HostModel host = small_host();
  host.gpus[0].near = known(Place{.numa_nodes = {1}});
  host.gpus[1].near = known(Place{.cpus = CpuSet::parse("3-4").value()});
  host = finished(std::move(host));
  EXPECT_EQ(host.gpus[0].near->cpus.to_text(), "4-7");
  EXPECT_EQ(host.gpus[1].near->numa_nodes, (std::vector<int>{0, 1}));
}

TEST(Finish, PutsListsInOrderAndKeepsWhatRefersToThem) {
  HostModel host = small_host();
  std::swap(host.packages[0], host.packages[1]);
  host.links.push_back({.gpu = 2, .end = LinkEnd::kPackage, .peer = 0, .count = 1});
  host.nics[0].name = "mlx5_10";
  host.nics[1].name = "mlx5_2";
  host.stated = {{.a = {DeviceKind::kNic, 0}, .b = {DeviceKind::kGpu, 2}}};
  host = finished(std::move(host));
  EXPECT_EQ(host.packages[0].number, 0);
  EXPECT_EQ(host.nics[0].name, "mlx5_2");
  EXPECT_EQ(host.stated[0].a, (DeviceRef{DeviceKind::kGpu, 2}));
  EXPECT_EQ(host.stated[0].b, (DeviceRef{DeviceKind::kNic, 1}));
  EXPECT_EQ(host.links[0].gpu, 0);
  EXPECT_EQ(host.links[0].peer, 1);
  EXPECT_EQ(host.links[1].peer, 1) << "the package that was listed first is number 1";
}

TEST(Finish, LeavesOutBridgesThatLeadToNothing) {
  HostModel host = small_host();
  host.nics.pop_back();
  host.bridges.insert(host.bridges.begin(), Bridge{});
  for (Bridge& bridge : host.bridges)
    if (bridge.parent != kNone) ++bridge.parent;
  for (Gpu& gpu : host.gpus) ++gpu.pci.bridge;
  for (Nic& nic : host.nics) ++nic.pci.bridge;
  host = finished(std::move(host));
  ASSERT_EQ(host.bridges.size(), 3U);
  EXPECT_EQ(host.bridges[1].parent, 0);
  EXPECT_EQ(host.gpus[2].pci.bridge, 2);
}

TEST(Finish, RefusesWhatLeadsNowhere) {
  const auto refuses = [](auto spoil) {
    HostModel host = small_host();
    spoil(host);
    const auto result = finish(std::move(host), 0);
    return !result.ok() && result.status().code() == Code::kInvalidArgument;
  };
  EXPECT_TRUE(refuses([](HostModel& host) { host.bridges[1].parent = 1; }));
  EXPECT_TRUE(refuses([](HostModel& host) { host.bridges[1].parent = 3; }));
  EXPECT_TRUE(refuses([](HostModel& host) { host.bridges[1].parent = kNone; }));
  EXPECT_TRUE(refuses([](HostModel& host) { host.gpus[0].pci.bridge = 9; }));
  EXPECT_TRUE(refuses([](HostModel& host) { host.nics[0].pci.bridge = -2; }));
  EXPECT_TRUE(refuses([](HostModel& host) { host.links[0].peer = 3; }));
  EXPECT_TRUE(refuses([](HostModel& host) { host.links[0].end = LinkEnd::kSwitch; }));
  EXPECT_TRUE(refuses([](HostModel& host) {
    host.stated = {{.a = {DeviceKind::kGpu, 0}, .b = {DeviceKind::kNic, 2}}};
  }));
  EXPECT_TRUE(refuses([](HostModel& host) { host = HostModel(); }));
}

std::string warnings_when_finished(HostModel host) {
  return warnings_of(finished(std::move(host)));
}

TEST(Finish, WarnsOfWhatCannotBeSo) {
  HostModel one_node = small_host();
  one_node.numa_nodes.resize(1);
  EXPECT_NE(warnings_when_finished(one_node).find("2 packages but one NUMA node"),
            std::string::npos);

  HostModel cut = small_host();
  cut.numa_nodes[1].cpus = CpuSet::parse("4-6").value();
  EXPECT_NE(warnings_when_finished(cut).find("NUMA node 1 has 3 CPUs, but the other has 4"),
            std::string::npos);
  cut.withheld = CpuSet::parse("7").value();
  EXPECT_EQ(warnings_when_finished(cut), "");

  HostModel overlapping = small_host();
  overlapping.numa_nodes[1].cpus = CpuSet::parse("3-6").value();
  EXPECT_NE(warnings_when_finished(overlapping).find("has CPUs of another node"),
            std::string::npos);
  EXPECT_EQ(finished(overlapping).numa_nodes[1].cpus.to_text(), "4-6");

  HostModel restricted = small_host();
  restricted.withheld = CpuSet::parse("4-7").value();
  EXPECT_NE(warnings_when_finished(restricted)
                .find("GPU cuda2 is near CPUs 4-7, but none of them may be used"),
            std::string::npos);
}

TEST(Finish, WarnsOfTwoDevicesAtOneAddress) {
  HostModel host = small_host();
  host.nics[1].pci.bus = host.gpus[0].pci.bus;
  EXPECT_EQ(warnings_when_finished(host),
            "NIC mlx5_1 has the same bus id as another device: 0000:03:00.0\n");
}

TEST(Finish, MemoryBesideOrdinaryMemoryDividesNoCpus) {
  HostModel host = small_host();
  host.numa_nodes.push_back({.number = 2,
                             .cpus = host.numa_nodes[0].cpus,
                             .memory_bytes = 16,
                             .kind = MemoryKind::kHighBandwidth});
  EXPECT_EQ(warnings_when_finished(host), "");
  EXPECT_EQ(cpu_nodes(host).size(), 2U);
}

}  // namespace
}  // namespace paceline::topology
