#include "topology/read/hwloc_machine.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace paceline::topology {
namespace {

// A folder with what the kernel of a machine shows, until the test ends.
class Tree {
 public:
  Tree() {
    std::string name = (std::filesystem::temp_directory_path() / "paceline_tree_XXXXXX").string();
    root_ = ::mkdtemp(name.data());
  }
  ~Tree() { std::filesystem::remove_all(root_); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }
  std::string root() const { return root_.string(); }

 private:
  std::filesystem::path root_;
};

// Two packages with one core of two threads and a NUMA node each; CPU 3 is off line.
void write_small_machine(Tree& tree) {
  const std::string cpus = "sys/devices/system/cpu/", nodes = "sys/devices/system/node/";
  tree.write(cpus + "possible", "0-3");
  tree.write(cpus + "present", "0-3");
  tree.write(cpus + "online", "0-2");
  for (int cpu = 0; cpu < 4; ++cpu) {
    const std::string folder = cpus + "cpu" + std::to_string(cpu);
    const std::string package = std::to_string(cpu / 2);
    tree.write(folder + "/online", cpu < 3 ? "1" : "0");
    if (cpu == 3) continue;
    tree.write(folder + "/topology/physical_package_id", package);
    tree.write(folder + "/topology/core_id", "0");
    tree.write(folder + "/topology/core_siblings", cpu < 2 ? "3" : "4");
    tree.write(folder + "/topology/thread_siblings", cpu < 2 ? "3" : "4");
  }
  tree.write(nodes + "online", "0-1");
  for (int node = 0; node < 2; ++node) {
    const std::string folder = nodes + "node" + std::to_string(node);
    const std::string name = "Node " + std::to_string(node);
    tree.write(folder + "/cpumap", node == 0 ? "3" : "c");
    tree.write(folder + "/meminfo", name + " MemTotal: 1048576 kB");
    tree.write(folder + "/distance", node == 0 ? "10 20" : "20 10");
  }
}

// A GPU at the second package.
void write_gpu(Tree& tree) {
  const std::string folder = "sys/bus/pci/devices/0000:c1:00.0/";
  tree.write(folder + "class", "0x030200");
  tree.write(folder + "vendor", "0x10de");
  tree.write(folder + "device", "0x20b2");
  tree.write(folder + "local_cpus", "c");
}

TEST(HwlocMachine, IsReadFromWhatItsKernelShowed) {
  Tree tree;
  write_small_machine(tree);
  write_gpu(tree);
  ::testing::internal::CaptureStderr();
  const auto read = read_sysfs_tree(tree.root());
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  ASSERT_TRUE(read.ok()) << read.status().text();
  const HostModel& host = *read;
  EXPECT_EQ(host.sources, std::vector<std::string>{"hwloc on " + tree.root()});
  EXPECT_EQ(host.cpus.to_text(), "0-2");
  EXPECT_EQ(host.withheld.to_text(), "3");
  ASSERT_EQ(host.packages.size(), 2U);
  EXPECT_EQ(host.packages[0].cpus.to_text(), "0-1");
  EXPECT_EQ(host.cores.size(), 2U);
  ASSERT_EQ(host.numa_nodes.size(), 2U);
  EXPECT_EQ(host.numa_nodes[1].cpus.to_text(), "2");
  EXPECT_EQ(host.numa_nodes[1].memory_bytes, std::uint64_t{1} << 30);
  ASSERT_EQ(host.gpus.size(), 1U);
  EXPECT_EQ(host.gpus[0].name, "0000:c1:00.0");
  EXPECT_EQ(host.gpus[0].near->numa_nodes, std::vector<int>{1});
}

TEST(HwlocMachine, NodesThatLagBehindTheMachinesMemoryAreReported) {
  Tree tree;
  write_small_machine(tree);
  tree.write("proc/meminfo", "MemTotal:        2031616 kB\nMemFree:  1 kB");
  EXPECT_TRUE(read_sysfs_tree(tree.root())->warnings.empty());
  tree.write("proc/meminfo", "MemTotal:       33554432 kB");
  const auto read = read_sysfs_tree(tree.root());
  ASSERT_EQ(read->warnings.size(), 1U);
  EXPECT_EQ(read->warnings[0].text,
            "NUMA nodes have 2048 MiB of memory, and /proc/meminfo says 32768 MiB: do not rely on "
            "the memory of single nodes");
}

TEST(HwlocMachine, LeavesTheEnvironmentAsItWas) {
  Tree tree;
  write_small_machine(tree);
  ::setenv("HWLOC_FSROOT", "/elsewhere", 1);
  ::unsetenv("HWLOC_COMPONENTS");
  EXPECT_TRUE(read_sysfs_tree(tree.root()).ok());
  EXPECT_STREQ(std::getenv("HWLOC_FSROOT"), "/elsewhere");
  EXPECT_EQ(std::getenv("HWLOC_COMPONENTS"), nullptr);
  ::unsetenv("HWLOC_FSROOT");
}

TEST(HwlocMachine, IsNotInAFolderWithoutCpus) {
  Tree tree;
  tree.write("sys/devices/system/node/online", "0");
  const auto read = read_sysfs_tree(tree.root());
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().text(),
            tree.root() + ": this is not a copy of /sys: there is no sys/devices/system/cpu");
}

TEST(HwlocMachine, IsThisOne) {
  // Another topology that a user has set for other programs is not taken for this machine.
  ::setenv("HWLOC_SYNTHETIC", "pu:777", 1);
  ::testing::internal::CaptureStderr();
  const auto read = read_live_machine();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  ::unsetenv("HWLOC_SYNTHETIC");
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_FALSE(read->cpus.is_empty());
  EXPECT_NE(read->cpus.count(), 777);
  EXPECT_FALSE(read->cores.empty());
  ASSERT_EQ(read->sources.size(), 1U);
  EXPECT_TRUE(read->sources[0].starts_with("hwloc 2.")) << read->sources[0];
  EXPECT_TRUE(read->sources[0].ends_with(" on this machine"));
}

}  // namespace
}  // namespace paceline::topology
