#include "launcher/connectivity/host_facts.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/harness/file_tree.h"

namespace paceline::probe {
namespace {

using testing::FileTree;

void write_limits(const FileTree& tree) {
  tree.write("/proc/self/limits",
             "Limit                     Soft Limit           Hard Limit           Units\n"
             "Max open files            1024                 524288               files\n"
             "Max locked memory         unlimited            unlimited            bytes\n");
  tree.write("/proc/self/mountinfo",
             "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n");
  tree.write("/proc/self/cgroup", "0::/jobs/one\n");
  tree.write("/sys/fs/cgroup/jobs/one/memory.max", "max\n");
  tree.write("/sys/fs/cgroup/jobs/memory.max", "17179869184\n");
  tree.write("/sys/fs/cgroup/jobs/one/pids.max", "2048\n");
  tree.write("/sys/fs/cgroup/jobs/one/cpu.max", "350000 100000\n");
}

void write_machine(const FileTree& tree) {
  tree.write("/proc/sys/kernel/random/boot_id", "11112222-3333\n");
  tree.write("/sys/devices/system/cpu/online", "0-3,6\n");
  tree.write("/proc/self/status", "Name:\tprobe\nCpus_allowed_list:\t0-1\n");
  tree.write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  tree.write("/sys/devices/system/cpu/smt/control", "off\n");
  for (const char* node : {"node0", "node1", "node10"})
    tree.folder(std::string("/sys/devices/system/node/") + node);
  tree.folder("/sys/devices/system/node/power");
  tree.write("/proc/sys/kernel/numa_balancing", "1\n");
  tree.write("/proc/meminfo", "MemTotal:       32768000 kB\nMemAvailable:   1024000 kB\n");
  tree.write("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
  tree.write("/proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n");
  tree.write("/proc/sys/net/ipv4/tcp_wmem", "4096\t16384\t4194304\n");
  tree.folder("/sys/class/infiniband/mlx5_1");
  tree.folder("/sys/class/infiniband/mlx5_0");
  tree.write("/sys/class/net/ib0/mtu", "4092\n");
  tree.write("/sys/class/net/ib0/speed", "200000\n");
  tree.link("/sys/class/net/ib0/device/driver", "../../bus/pci/drivers/mlx5_core");
}

TEST(HostFacts, OfAMachine) {
  const FileTree tree;
  write_limits(tree);
  write_machine(tree);
  HostFacts facts = read_host_facts(tree.root(), "ib0");
  EXPECT_EQ(facts.boot_id, "11112222-3333");
  EXPECT_EQ(facts.cpus_online, 5);
  EXPECT_EQ(facts.cpus_allowed, 2);
  EXPECT_EQ(facts.cpu_quota, 3.5);
  EXPECT_EQ(facts.memory_bytes, 32768000ull * 1024);
  EXPECT_EQ(facts.memory_available_bytes, 1024000ull * 1024);
  EXPECT_EQ(facts.memory_limit_bytes, std::uint64_t{16} << 30) << "of the group above";
  EXPECT_EQ(facts.pids_limit, 2048u);
  EXPECT_EQ(facts.numa_nodes, 3);
  EXPECT_EQ(facts.numa_balancing, "1");
  EXPECT_EQ(facts.governor, "powersave");
  EXPECT_EQ(facts.smt, "off");
  EXPECT_EQ(facts.thp, "never");
  EXPECT_EQ(facts.memlock_bytes, kNoLimit);
  EXPECT_EQ(facts.open_files, 524288u);
  EXPECT_EQ(facts.receive_buffer_bytes, 6291456u);
  EXPECT_EQ(facts.send_buffer_bytes, 4194304u);
  EXPECT_EQ(facts.rdma_device, "mlx5_0");
  EXPECT_EQ(facts.driver, "mlx5_core");
  EXPECT_EQ(facts.mtu, 4092);
  EXPECT_EQ(facts.rating_bits_per_s(), 200e9);
}

TEST(HostFacts, WhatIsNotThereIsNotKnown) {
  const FileTree tree;
  const HostFacts facts = read_host_facts(tree.root(), "eth0");
  EXPECT_EQ(facts.cpus_online, 0);
  EXPECT_EQ(facts.memory_limit_bytes, kNoLimit);
  EXPECT_EQ(facts.governor, "");
  EXPECT_EQ(facts.rating_bits_per_s(), std::nullopt);
}

TEST(HostFacts, DevicesMadeOfSoftwareAreNotBelieved) {
  const FileTree tree;
  tree.write("/sys/class/net/veth0/speed", "10000\n");
  tree.write("/sys/class/net/virtio0/speed", "-1\n");
  tree.link("/sys/class/net/virtio0/device/driver", "../virtio_net");
  tree.write("/sys/class/net/bond0/speed", "50000\n");
  tree.folder("/sys/class/net/bond0/bonding");
  EXPECT_EQ(read_host_facts(tree.root(), "veth0").rating_bits_per_s(), std::nullopt);
  EXPECT_EQ(read_host_facts(tree.root(), "virtio0").rating_bits_per_s(), std::nullopt);
  EXPECT_EQ(read_host_facts(tree.root(), "bond0").rating_bits_per_s(), 50e9);
}

TEST(HostFacts, WordsComeBack) {
  HostFacts facts{.cpu_quota = 2.5, .memlock_bytes = kNoLimit, .device = "eth 0", .mtu = 9000};
  const HostFacts read = parse_host_facts(to_text(facts) + " unknown=7 mtu rate_mbit=x");
  facts.device = "eth_0";
  EXPECT_EQ(read, facts);
}

TEST(HostFacts, DevicesByTheirAddresses) {
  EXPECT_EQ(device_of("127.0.0.1"), "lo");
  EXPECT_EQ(device_of("203.0.113.77"), "");
}

}  // namespace
}  // namespace paceline::probe
