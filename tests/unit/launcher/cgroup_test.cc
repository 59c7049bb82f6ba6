#include "launcher/process/cgroup.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/process/system.h"

namespace paceline::launcher {
namespace {

constexpr std::string_view kMounts =
    "22 1 0:20 / /proc rw - proc proc rw\n"
    "30 29 0:26 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n"
    "31 29 0:27 /docker/a /mnt/a\\040b rw,relatime - cgroup cgroup rw,cpu,memory\n";

TEST(CgroupMounts, AreFoundByTheirKind) {
  EXPECT_EQ(cgroup_mount(kMounts, true),
            std::optional(CgroupMount{.root = "/", .point = "/sys/fs/cgroup/unified"}));
  EXPECT_EQ(cgroup_mount(kMounts, false),
            std::optional(CgroupMount{.root = "/docker/a", .point = "/mnt/a b"}));
  EXPECT_EQ(cgroup_mount("30 29 0:26 / / rw - cgroup", true), std::nullopt);
  EXPECT_EQ(cgroup_mount("", false), std::nullopt);
}

TEST(CgroupMounts, ShowWhatIsBelowTheirRoot) {
  const CgroupMount whole{.root = "/", .point = "/sys"}, part{.root = "/a", .point = "/mnt"};
  EXPECT_EQ(whole.folder_of("/"), "/sys");
  EXPECT_EQ(whole.folder_of("/job"), "/sys/job");
  EXPECT_EQ(part.folder_of("/a"), "/mnt");
  EXPECT_EQ(part.folder_of("/a/job"), "/mnt/job");
  EXPECT_EQ(part.folder_of("/ab"), std::nullopt);
}

TEST(Cgroups, WhereNoneMayBeMadeTheForkIsAPlainOne) {
  EXPECT_EQ(make_cgroup("", "paceline-test"), "");
  EXPECT_EQ(make_cgroup("/nowhere", "paceline-test"), "");
  const pid_t child = fork_into(UniqueFd());
  if (child == 0) ::_exit(7);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(Cgroups, HoldAChildAndItsOwnUntilTheyAreKilled) {
  const std::string folder =
      make_cgroup(own_cgroup_folder(), "paceline-test-" + std::to_string(::getpid()));
  if (folder.empty()) GTEST_SKIP() << "this user may make no cgroup here";
  const UniqueFd cgroup(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const pid_t child = fork_into(cgroup);
  if (child == 0) {
    if (::fork() == 0) ::setsid();
    for (;;) ::pause();
  }
  const std::string where = read_file("/proc/" + std::to_string(child) + "/cgroup");
  EXPECT_NE(where.find("/paceline-test-"), std::string::npos) << where;
  const SystemClock clock;
  remove_cgroup(folder, clock, std::chrono::milliseconds(1));
  struct stat found {};
  EXPECT_EQ(::stat(folder.c_str(), &found), 0) << "removed with processes in it";
  kill_cgroup(folder);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  remove_cgroup(folder, clock, std::chrono::seconds(10));
  EXPECT_NE(::stat(folder.c_str(), &found), 0);
}

}  // namespace
}  // namespace paceline::launcher
