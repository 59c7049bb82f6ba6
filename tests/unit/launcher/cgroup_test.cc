#include "launcher/system/cgroup.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/base/read_file.h"

namespace paceline::launcher {
namespace {

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
