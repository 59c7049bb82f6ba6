#include "topology/read/rdma_sysfs.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/harness/file_tree.h"

namespace paceline::topology {
namespace {

using testing::FileTree;

void add_device(const FileTree& tree, const std::string& name, const std::string& bus) {
  const std::string pci = "/sys/devices/pci0000:00/" + bus;
  tree.folder(pci);
  tree.link("/sys/class/infiniband/" + name + "/device", tree.root() + pci);
}

struct PortFiles {
  int number = 1;
  std::string state = "4: ACTIVE";
  std::string rate;
  std::string link_layer = "InfiniBand";
};

void add_port(const FileTree& tree, const std::string& device, const PortFiles& port) {
  const std::string at =
      "/sys/class/infiniband/" + device + "/ports/" + std::to_string(port.number) + "/";
  tree.write(at + "state", port.state + "\n");
  tree.write(at + "rate", port.rate + "\n");
  tree.write(at + "link_layer", port.link_layer + "\n");
}

TEST(RdmaDevices, AreReadWithTheirFastestPortThatIsUp) {
  FileTree tree;
  add_device(tree, "mlx5_0", "0000:c1:00.0");
  tree.write("/sys/class/infiniband/mlx5_0/node_guid", "b859:9f03:00c2:f06a\n");
  tree.write("/sys/devices/pci0000:00/0000:c1:00.0/local_cpulist", "0-7,64-71\n");
  tree.write("/sys/devices/pci0000:00/0000:c1:00.0/numa_node", "3\n");
  tree.write("/sys/devices/pci0000:00/0000:c1:00.0/net/ib0/mtu", "4092\n");
  add_port(tree, "mlx5_0", {.state = "1: DOWN", .rate = "400 Gb/sec (4X NDR)"});
  add_port(tree, "mlx5_0", {.number = 2, .rate = "200 Gb/sec (4X HDR)"});
  tree.write("/sys/class/infiniband/mlx5_0/ports/2/gids/0",
             "fe80:0000:0000:0000:b859:9f03:00c2:f06a\n");
  const HostModel host = read_rdma_devices(tree.root());
  ASSERT_EQ(host.nics.size(), 1U);
  const Nic& nic = host.nics[0];
  EXPECT_EQ(nic.name, "mlx5_0");
  EXPECT_EQ(nic.interfaces, (std::vector<std::string>{"ib0"}));
  EXPECT_EQ(nic.kind, NicKind::kInfiniband);
  EXPECT_EQ(*nic.pci.bus, (BusId{.bus = 0xc1}));
  EXPECT_EQ(nic.near->cpus.to_text(), "0-7,64-71");
  EXPECT_EQ(nic.near->numa_nodes, (std::vector<int>{3}));
  EXPECT_EQ(nic.port, 2);
  EXPECT_TRUE(*nic.is_up);
  EXPECT_EQ(*nic.rate_mbit, 200000U);
  EXPECT_EQ(*nic.guid, "b859:9f03:00c2:f06a");
  EXPECT_EQ(*nic.gid, (Gid{.index = 0, .text = "fe80:0000:0000:0000:b859:9f03:00c2:f06a"}));
}

TEST(RdmaDevices, OnEthernetHaveTheAddressOfRoce2) {
  FileTree tree;
  add_device(tree, "mlx5_1", "0000:c2:00.0");
  add_port(tree, "mlx5_1", {.rate = "2.5 Gb/sec (1X SDR)", .link_layer = "Ethernet"});
  const std::string at = "/sys/class/infiniband/mlx5_1/ports/1/";
  const std::string link_local = "fe80:0000:0000:0000:0000:0000:0000:0001\n";
  const std::string ipv4 = "0000:0000:0000:0000:0000:ffff:0a00:0001\n";
  tree.write(at + "gids/0", link_local);
  tree.write(at + "gids/1", link_local);
  tree.write(at + "gids/2", ipv4);
  tree.write(at + "gids/3", ipv4);
  tree.write(at + "gids/4", "0000:0000:0000:0000:0000:0000:0000:0000\n");
  tree.write(at + "gid_attrs/types/0", "IB/RoCE v1\n");
  tree.write(at + "gid_attrs/types/1", "RoCE v2\n");
  tree.write(at + "gid_attrs/types/2", "IB/RoCE v1\n");
  tree.write(at + "gid_attrs/types/3", "RoCE v2\n");
  const HostModel host = read_rdma_devices(tree.root());
  ASSERT_EQ(host.nics.size(), 1U);
  EXPECT_EQ(host.nics[0].kind, NicKind::kRoce);
  EXPECT_EQ(*host.nics[0].rate_mbit, 2500U);
  EXPECT_EQ(host.nics[0].gid->index, 3);
}

TEST(RdmaDevices, MayBeOfSoftwareOrHalfThere) {
  FileTree tree;
  tree.write("/sys/class/infiniband/rxe0/node_guid", "0000:0000:0000:0001\n");
  add_device(tree, "hfi1_0", "0000:83:00.0");
  add_port(tree, "hfi1_0", {.rate = "nonsense"});
  tree.write("/sys/devices/pci0000:00/0000:83:00.0/numa_node", "-1\n");
  const HostModel host = read_rdma_devices(tree.root());
  ASSERT_EQ(host.nics.size(), 2U);
  EXPECT_EQ(host.nics[0].kind, NicKind::kOmniPath);
  EXPECT_FALSE(host.nics[0].rate_mbit.is_known());
  EXPECT_FALSE(host.nics[0].near.is_known());
  EXPECT_FALSE(host.nics[1].pci.bus.is_known());
}

TEST(RdmaDevices, AreNoneWhereThereAreNone) {
  EXPECT_TRUE(read_rdma_devices("/no/such/root").nics.empty());
}

}  // namespace
}  // namespace paceline::topology
