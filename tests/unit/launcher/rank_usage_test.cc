#include "launcher/agent/rank_usage.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace paceline::launcher {
namespace {

using std::chrono::milliseconds;

// A folder with the files of a process 42, whose thread 43 marks steps.
class RankUsageTest : public ::testing::Test {
 protected:
  RankUsageTest() {
    write("/proc/42/schedstat", "5000 600 7\n");
    write("/proc/42/stat", stat("42 (a) b) c)", 'S', 42, 3, 100));
    write("/proc/43/schedstat", "9000 800 7\n");
    write("/proc/43/stat", stat("43 (worker)", 'R', 42, 3, 100));
    write("/proc/44/schedstat", "1 1 1\n");
    write("/proc/44/stat", stat("44 (other)", 'R', 1, 0, 1));
  }
  ~RankUsageTest() override { std::filesystem::remove_all(root_); }

  static std::string stat(const std::string& name, char state, int group, int faults, int pages) {
    return name + ' ' + state + " 1 " + std::to_string(group) + " 1 0 -1 4194304 10 0 " +
           std::to_string(faults) + " 0 1 2 3 4 20 0 1 0 100 5000 " + std::to_string(pages) +
           " 0\n";
  }
  void write(const std::string& path, const std::string& text) const {
    const std::string file = root_ + path;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file) << text;
  }
  static std::string make_folder() {
    char name[] = "/tmp/paceline-usage-XXXXXX";
    return ::mkdtemp(name);
  }

  const std::string root_ = make_folder();
  TimePoint now_{std::chrono::hours(1)};
};

TEST_F(RankUsageTest, ReadsTheMainThreadAndTheProcess) {
  UsageReader reader(42, root_);
  const RankUsage usage = reader.read(now_);
  EXPECT_EQ(usage.time_ns, now_.time_since_epoch().count());
  EXPECT_EQ(usage.run_ns, 5000);
  EXPECT_EQ(usage.queued_ns, 600);
  EXPECT_EQ(usage.major_faults, 3u);
  EXPECT_EQ(usage.resident_kib, 400u);
}

TEST_F(RankUsageTest, ReadsTheMarkingThreadIfItIsOfTheRank) {
  UsageReader reader(42, root_);
  reader.set_thread(44);
  EXPECT_EQ(reader.read(now_).run_ns, 5000);
  reader.set_thread(43);
  EXPECT_EQ(reader.read(now_).run_ns, 9000);
}

TEST_F(RankUsageTest, LooksCountForTheTimeSinceTheLast) {
  UsageReader reader(42, root_);
  reader.look(now_);
  const auto look = [&](char state) {
    write("/proc/42/stat", stat("42 (a)", state, 42, 3, 100));
    reader.look(now_ += milliseconds(100));
  };
  for (const char state : {'T', 'R', 'T', 'D', 'S'}) look(state);
  const RankUsage usage = reader.read(now_);
  EXPECT_EQ(Duration(usage.stopped_ns), milliseconds(200));
  EXPECT_EQ(Duration(usage.blocked_ns), milliseconds(100));
}

TEST_F(RankUsageTest, AProcessThatHasGoneLeavesTheLastThatWasKnown) {
  UsageReader reader(42, root_);
  const RankUsage before = reader.read(now_);
  std::filesystem::remove_all(root_ + "/proc/42");
  reader.look(now_ + milliseconds(100));
  EXPECT_EQ(reader.read(now_ + milliseconds(100)), before);
  EXPECT_EQ(UsageReader(41, root_).read(now_), RankUsage());
}

TEST_F(RankUsageTest, QuotasOfAllGroupsAboveCount) {
  write("/proc/self/mountinfo",
        "30 1 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
        "31 1 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  write("/proc/42/cgroup", "1:cpu:/user/job\n0::/user/job\n");
  write("/sys/fs/cgroup/cpu/user/job/cpu.stat",
        "nr_periods 1\nnr_throttled 1\nthrottled_time 70\n");
  write("/sys/fs/cgroup/cpu/user/cpu.stat", "nr_periods 1\nnr_throttled 1\nthrottled_time 900\n");
  EXPECT_EQ(UsageReader(42, root_).read(now_).throttled_ns, 900);
  write("/sys/fs/cgroup/unified/user/cpu.stat", "usage_usec 5\nthrottled_usec 3\n");
  EXPECT_EQ(UsageReader(42, root_).read(now_).throttled_ns, 3000);
}

TEST_F(RankUsageTest, PressureIsThatOfItsControlGroup) {
  EXPECT_TRUE(UsageReader(42, root_).read(now_).figures.is_empty());
  write("/proc/self/mountinfo", "31 1 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  write("/proc/42/cgroup", "0::/user/job\n");
  write("/sys/fs/cgroup/user/cpu.pressure", "some avg10=0.00 total=9000000\n");
  write("/sys/fs/cgroup/user/job/cpu.pressure", "some avg10=0.00 total=3000000\n");
  write("/sys/fs/cgroup/user/job/io.pressure", "some avg10=0.00 total=500000\n");
  write("/proc/42/io", "rchar: 1\nread_bytes: 4096\nwrite_bytes: 8192\n");
  write("/proc/43/io", "rchar: 1\nread_bytes: 40960\nwrite_bytes: 0\n");
  UsageReader reader(42, root_);
  HostFigures figures = reader.read(now_).figures;
  EXPECT_EQ(figures.get(HostFigure::kCpuStalled), 3);
  EXPECT_EQ(figures.get(HostFigure::kIoStalled), 0.5);
  EXPECT_FALSE(figures.get(HostFigure::kMemoryStalled));
  EXPECT_EQ(figures.get(HostFigure::kDiskRead), 4096);
  reader.set_thread(43);
  figures = reader.read(now_).figures;
  EXPECT_EQ(figures.get(HostFigure::kDiskRead), 40960);
  EXPECT_EQ(figures.get(HostFigure::kDiskWritten), 0);
}

TEST(RankUsage, SeesAProcessOfThisHost) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setpgid(0, 0);
    for (;;) ::pause();
  }
  ::kill(child, SIGSTOP);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  UsageReader reader(child);
  const TimePoint now{std::chrono::hours(1)};
  reader.look(now);
  reader.look(now + milliseconds(10));
  EXPECT_EQ(Duration(reader.read(now).stopped_ns), milliseconds(10));
  EXPECT_GT(reader.read(now).resident_kib, 0u);
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
}

}  // namespace
}  // namespace paceline::launcher
