#include "launcher/system/cgroup.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/base/cgroup.h"
#include "comm/base/read_file.h"
#include "launcher/system/system.h"

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

void holds_a_child_and_its_own_until_they_are_killed(const std::string& parent) {
  const std::string folder = make_cgroup(parent, "paceline-test-" + std::to_string(::getpid()));
  if (folder.empty()) GTEST_SKIP() << "this user may make no cgroup here";
  const UniqueFd cgroup(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  auto ready = make_pipe();
  ASSERT_TRUE(ready.ok());
  const pid_t child = fork_into(cgroup);
  if (child == 0) {
    if (::fork() == 0) ::setsid();
    if (::write(ready->write_end.get(), "", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready->read_end.get(), &byte, 1), 1);
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

TEST(Cgroups, HoldAChildAndItsOwnUntilTheyAreKilled) {
  holds_a_child_and_its_own_until_they_are_killed(own_cgroup_folder());
}

TEST(Cgroups, OfVersion1DoTheSame) {
  const auto mount = cgroup_mount(read_file("/proc/self/mountinfo"), "freezer");
  const auto path = cgroup_path(read_file("/proc/self/cgroup"), "freezer");
  if (!mount || !path) GTEST_SKIP() << "there is no freezer of version 1";
  holds_a_child_and_its_own_until_they_are_killed(mount->folder_of(*path).value_or(""));
}

}  // namespace
}  // namespace paceline::launcher
