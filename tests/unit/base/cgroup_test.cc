#include "comm/base/cgroup.h"

#include <filesystem>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>
#include <unistd.h>

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMounts =
    "22 1 0:20 / /proc rw - proc proc rw\n"
    "30 29 0:26 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n"
    "31 29 0:27 /docker/a /mnt/a\\040b rw,relatime - cgroup cgroup rw,cpu,memory\n";

TEST(CgroupMounts, AreFoundByTheirKind) {
  EXPECT_EQ(cgroup_mount(kMounts, ""),
            std::optional(CgroupMount{.root = "/", .point = "/sys/fs/cgroup/unified"}));
  EXPECT_EQ(cgroup_mount(kMounts, "memory"),
            std::optional(CgroupMount{.root = "/docker/a", .point = "/mnt/a b"}));
  EXPECT_EQ(cgroup_mount("30 29 0:26 / / rw - cgroup", ""), std::nullopt);
  EXPECT_EQ(cgroup_mount("", "cpu"), std::nullopt);
}

TEST(CgroupMounts, ShowWhatIsBelowTheirRoot) {
  const CgroupMount whole{.root = "/", .point = "/sys"}, part{.root = "/a", .point = "/mnt"};
  EXPECT_EQ(whole.folder_of("/"), "/sys");
  EXPECT_EQ(whole.folder_of("/job"), "/sys/job");
  EXPECT_EQ(part.folder_of("/a"), "/mnt");
  EXPECT_EQ(part.folder_of("/a/job"), "/mnt/job");
  EXPECT_EQ(part.folder_of("/ab"), std::nullopt);
}

TEST(CgroupPaths, AreThoseOfTheController) {
  constexpr std::string_view kOwn = "9:name=systemd:/\n4:cpu,cpuacct:/job\n0::/slice\n";
  EXPECT_EQ(cgroup_path(kOwn, "cpu"), "/job");
  EXPECT_EQ(cgroup_path(kOwn, ""), "/slice");
  EXPECT_EQ(cgroup_path(kOwn, "memory"), std::nullopt);
  EXPECT_EQ(cgroup_path("0::/../other\n", ""), std::nullopt);
  EXPECT_EQ(cgroup_path("nonsense", ""), std::nullopt);
}

// A /proc and cgroup folders of its own.
class CpuQuota : public ::testing::Test {
 protected:
  CpuQuota() {
    put("proc/self/mountinfo",
        "30 29 0:26 / /v2 rw - cgroup2 cgroup2 rw\n31 29 0:27 / /v1 rw - cgroup cgroup rw,cpu\n");
  }
  ~CpuQuota() override { fs::remove_all(root_); }
  void put(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  fs::path root_ =
      fs::path(::testing::TempDir()) / ("paceline_quota_" + std::to_string(::getpid()));
};

TEST_F(CpuQuota, OfVersionTwoIsTheLeastOnTheWayUp) {
  put("proc/self/cgroup", "0::/a/b\n");
  EXPECT_EQ(cpu_quota(root_), std::numeric_limits<double>::infinity());
  put("v2/a/b/cpu.max", "max 100000\n");
  put("v2/a/cpu.max", "250000 100000\n");
  EXPECT_EQ(cpu_quota(root_), 2.5);
  put("v2/a/b/cpu.max", "50000 100000\n");
  EXPECT_EQ(cpu_quota(root_), 0.5);
}

TEST_F(CpuQuota, OfVersionOne) {
  put("proc/self/cgroup", "3:cpu,cpuacct:/job\n0::/\n");
  put("v1/job/cpu.cfs_quota_us", "-1\n");
  put("v1/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cpu_quota(root_), std::numeric_limits<double>::infinity());
  put("v1/job/cpu.cfs_quota_us", "150000\n");
  EXPECT_EQ(cpu_quota(root_), 1.5);
}

}  // namespace
}  // namespace paceline
