#include "launcher/agent/oom_watch.h"

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "launcher/agent/oom_count.h"
#include "launcher/agent/oom_record.h"

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;

OomRecords read(std::initializer_list<const char*> records) {
  OomRecords all;
  for (const char* record : records) all.add(record);
  return all;
}

// ---- The kernel's log ----------------------------------------------------------------------

TEST(OomRecords, Linux6OfACgroup) {
  const OomRecords records = read({
      "4,366,26657445696,-;python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0",
      "6,398,26657445883,-;Memory cgroup stats for /job:",
      "6,444,26657445973,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,"
      "mems_allowed=0,oom_memcg=/job,task_memcg=/job/rank,task=python3,pid=2562,uid=0",
      "3,445,26657445988,-;Memory cgroup out of memory: Killed process 2562 (python3) "
      "total-vm:49460kB, anon-rss:39552kB, file-rss:6648kB, shmem-rss:0kB, UID:0 pgtables:144kB "
      "oom_score_adj:0\n",
  });
  EXPECT_EQ(records.where(2562), "/job");
  EXPECT_EQ(records.where(256), std::nullopt);
  EXPECT_EQ(records.where(0), std::nullopt);
}

TEST(OomRecords, Linux5OfTheHost) {
  const OomRecords records = read({
      "6,10,1,-,caller=T9;oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,"
      "mems_allowed=0-1,global_oom,task_memcg=/user.slice/user-1000.slice,task=train,pid=71,"
      "uid=1000",
      "3,11,2,-,caller=T9;Out of memory: Killed process 71 (train) total-vm:1kB, anon-rss:1kB",
  });
  EXPECT_EQ(records.where(71), kWholeHost);
}

TEST(OomRecords, Linux4) {
  const OomRecords cgroup = read({
      "6,1,1,-;Task in /slurm/uid_1/job_7/step_0 killed as a result of limit of /slurm/uid_1/job_7",
      "3,2,2,-;Memory cgroup out of memory: Kill process 88 (train) score 994 or sacrifice child",
      "3,3,3,-;Killed process 89 (train) total-vm:4kB, anon-rss:4kB, file-rss:0kB, shmem-rss:0kB",
      "3,4,4,-;Out of memory: Kill process 90 (train) score 12 or sacrifice child",
      "3,5,5,-;Killed process 90 (train) total-vm:4kB, anon-rss:4kB, file-rss:0kB, shmem-rss:0kB",
  });
  EXPECT_EQ(cgroup.where(89), "/slurm/uid_1/job_7");
  EXPECT_EQ(cgroup.where(88), std::nullopt) << "its child was killed in its place";
  EXPECT_EQ(cgroup.where(90), kWholeHost) << "the cgroup is the one of the kill before";
}

TEST(OomRecords, WithoutTheSummaryTheCgroupHasNoName) {
  const OomRecords records = read({
      "3,1,1,-;Memory cgroup out of memory: Killed process 5 (a) total-vm:1kB",
      "3,2,2,-;Out of memory (oom_kill_allocating_task): Killed process 6 (a) total-vm:1kB",
  });
  EXPECT_EQ(records.where(5), kSomeMemoryCgroup);
  EXPECT_EQ(records.where(6), kWholeHost);
}

TEST(OomRecords, AWholeGroupIsKilled) {
  const OomRecords records = read({
      "6,1,1,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,"
      "oom_memcg=/g,task_memcg=/g,task=a,pid=5,uid=0",
      "3,2,2,-;Memory cgroup out of memory: Killed process 5 (a) total-vm:1kB",
      "6,3,3,-;Tasks in /g are going to be killed due to memory.oom.group set",
      "3,4,4,-;Memory cgroup out of memory: Killed process 6 (b) total-vm:1kB",
      "3,5,5,-;Memory cgroup out of memory: Killed process 7 (c) total-vm:1kB",
      "6,6,6,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,"
      "oom_memcg=/h,task_memcg=/h,task=a,pid=8,uid=0",
      "3,7,7,-;Memory cgroup out of memory: Killed process 8 (a) total-vm:1kB",
      "3,8,8,-;Memory cgroup out of memory: Killed process 9 (a) total-vm:1kB",
  });
  for (const pid_t pid : {5, 6, 7}) EXPECT_EQ(records.where(pid), "/g") << pid;
  EXPECT_EQ(records.where(8), "/h");
  EXPECT_EQ(records.where(9), kSomeMemoryCgroup);
}

TEST(OomRecords, ATasksNameDoesNotDeceive) {
  const OomRecords records = read({
      "6,1,1,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,"
      "oom_memcg=/x,task_memcg=/x,task=,pid=1,uid=0,pid=77,uid=1000",
      "6,2,2,-;Killed process [4]: segfault at 30 ip 00005594e849778f",
      "6,3,3,-;Out of memory: [4]: segfault at 30, not Killed process 4",
      "4,4,4,-;a Killed process 4 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0",
  });
  EXPECT_EQ(records.where(77), "/x");
  EXPECT_EQ(records.where(1), std::nullopt);
  EXPECT_EQ(records.where(4), std::nullopt);
}

TEST(OomRecords, NoBytesAreTooStrange) {
  const OomRecords records = read({
      "",
      ";",
      "6",
      "6,",
      "x;Killed process 3 (a)",
      "6,1,1,-",
      "6,1,1,-;",
      "6;Killed process",
      "6,1,1,-;Killed process 99999999999999999999 (a)",
      "6,1,1,-;Killed process -3 (a)",
      "6,1,1,-;oom-kill:constraint=",
      "6,1,1,-;oom-kill:constraint=X,pid=",
      "6,1,1,-;Task in ",
      "6,1,1,-;oom-kill:constraint=X,oom_memcg=,task_memcg=,pid=7",
      "6,1,1,-;Tasks in are going to be killed due to memory.oom.group set",
      "6,1,1,-;systemd: said\n Killed process 3 (a)",
  });
  EXPECT_EQ(records.where(3), std::nullopt);
  EXPECT_EQ(records.where(7), kSomeMemoryCgroup);
}

TEST(OomRecords, WhatAProcessWroteIsNotBelieved) {
  const OomRecords records = read({"12,1,1,-;Out of memory: Killed process 5 (a) total-vm:1kB"});
  EXPECT_EQ(records.where(5), std::nullopt);
}

TEST(OomRecords, KeepsTheLastKills) {
  OomRecords records;
  const pid_t last = 3 * static_cast<pid_t>(OomRecords::kMost);
  for (pid_t pid = 1; pid <= last; ++pid)
    records.add("3,1,1,-;Out of memory: Killed process " + std::to_string(pid) + " (a)");
  EXPECT_EQ(records.where(last), kWholeHost);
  EXPECT_EQ(records.where(last - static_cast<pid_t>(OomRecords::kMost)), std::nullopt);
}

// ---- The counters of cgroups ---------------------------------------------------------------

TEST(OomCounts, ReadsWhereAProcessIs) {
  const auto unified = [](const char* path) {
    return std::optional(MemoryCgroup{.unified = true, .path = path});
  };
  EXPECT_EQ(memory_cgroup("0::/user.slice/session-1.scope\n"),
            unified("/user.slice/session-1.scope"));
  EXPECT_EQ(memory_cgroup("9:name=systemd:/\n4:cpu,memory:/job:7\n0::/\n"),
            std::optional(MemoryCgroup{.unified = false, .path = "/job:7"}));
  EXPECT_EQ(memory_cgroup("9:name=memory:/a\n0::/b\n"), unified("/b"));
  EXPECT_EQ(memory_cgroup("0::/../other"), std::nullopt);
  EXPECT_EQ(memory_cgroup("3:cpu:/a\n"), std::nullopt);
  EXPECT_EQ(memory_cgroup(""), std::nullopt);
}

TEST(OomCounts, ReadsCounters) {
  EXPECT_EQ(counter("oom 3\noom_kill 2\n", "oom_kill"), 2u);
  EXPECT_EQ(counter("oom_kill_disable 0\nunder_oom 0\n", "oom_kill"), std::nullopt);
  EXPECT_EQ(counter("oom_kill x\n", "oom_kill"), std::nullopt);
  EXPECT_EQ(counter("", "oom_kill"), std::nullopt);
}

// A /proc and a /sys/fs/cgroup of its own.
class OomCountsTest : public ::testing::Test {
 public:
  OomCountsTest() {
    put("proc/self/mountinfo",
        "30 29 0:26 / /cgroup rw - cgroup2 cgroup2 rw\n"
        "31 29 0:27 / /memory rw - cgroup cgroup rw,memory\n");
  }
  ~OomCountsTest() override { fs::remove_all(root_); }

 protected:
  static constexpr pid_t kRank = 100;
  static constexpr pid_t kOther = 101;

  void put(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  void start(pid_t pid, const std::string& cgroup) {
    put("proc/" + std::to_string(pid) + "/cgroup", cgroup);
    counts_.started(pid);
  }
  void events(const std::string& cgroup, int oom, int oom_kill) const {
    put("cgroup" + cgroup + "/memory.events.local",
        "oom " + std::to_string(oom) + "\noom_kill " + std::to_string(oom_kill) + "\n");
  }

  fs::path root_ =
      fs::path(::testing::TempDir()) / ("paceline_oom_counts_" + std::to_string(::getpid()));
  OomCounts counts_{root_.string()};
};

TEST_F(OomCountsTest, EachCountedKillStandsForOneRank) {
  events("/job", 4, 7);
  start(kRank, "0::/job\n");
  start(kOther, "0::/job\n");
  EXPECT_EQ(counts_.killed(kRank), std::nullopt);
  events("/job", 5, 8);
  EXPECT_EQ(counts_.killed(kRank), "/job");
  EXPECT_EQ(counts_.killed(kOther), std::nullopt);
}

TEST_F(OomCountsTest, TheLimitMayBeFurtherOut) {
  events("/a", 0, 0);
  events("/a/b", 0, 0);
  events("/a/b/rank", 0, 0);
  start(kRank, "0::/a/b/rank\n");
  events("/a/b/rank", 0, 1);
  EXPECT_EQ(OomCounts(counts_).killed(kRank), kWholeHost);
  events("/a/b", 1, 0);
  EXPECT_EQ(counts_.killed(kRank), "/a/b");
}

TEST_F(OomCountsTest, InAContainerTheHostIsOutOfSight) {
  events("", 0, 0);
  events("/job", 0, 0);
  start(kRank, "0::/job\n");
  events("/job", 0, 1);
  EXPECT_EQ(counts_.killed(kRank), "/job");
}

TEST_F(OomCountsTest, KernelsWithoutLocalCounters) {
  put("cgroup/job/memory.events", "oom 0\noom_kill 0\n");
  start(kRank, "0::/job\n");
  put("cgroup/job/memory.events", "oom 1\noom_kill 1\n");
  EXPECT_EQ(counts_.killed(kRank), "/job");
}

TEST_F(OomCountsTest, VersionOne) {
  put("memory/job/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  start(kRank, "4:memory:/job\n0::/\n");
  EXPECT_EQ(counts_.killed(kRank), std::nullopt);
  put("memory/job/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
  EXPECT_EQ(counts_.killed(kRank), "/job");
}

TEST_F(OomCountsTest, ACgroupWithoutTheControllerIsPartOfTheOneAbove) {
  events("/job", 4, 7);
  start(kRank, "0::/job/paceline-1\n");
  EXPECT_EQ(counts_.killed(kRank), std::nullopt);
  events("/job", 5, 8);
  EXPECT_EQ(counts_.killed(kRank), "/job");
}

TEST_F(OomCountsTest, NothingIsKnownOfTheRoot) {
  start(kRank, "0::/\n");
  EXPECT_EQ(counts_.killed(kRank), std::nullopt);
  EXPECT_EQ(counts_.killed(kOther), std::nullopt) << "that never started";
}

// ---- Both ----------------------------------------------------------------------------------

TEST(OomWatch, OtherEndsAreNotItsWork) {
  OomWatch watch = OomWatch::open();
  watch.started(::getpid());
  EXPECT_EQ(watch.killed(::getpid(), SIGKILL), std::nullopt);
  EXPECT_EQ(watch.killed(::getpid(), SIGTERM), std::nullopt);
  EXPECT_EQ(watch.killed(::getpid(), 137 << 8), std::nullopt) << "exited with code 137";
}

}  // namespace
}  // namespace paceline::launcher
