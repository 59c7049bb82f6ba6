#include "comm/base/process_mark.h"

#include <string>

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace paceline {
namespace {

// The ways in which a child gets a copy of its parent's memory.
using Fork = pid_t (*)();
pid_t with_handlers() { return ::fork(); }
pid_t without_handlers() { return ::_Fork(); }
pid_t by_clone() {
  return static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}
constexpr Fork kWays[] = {with_handlers, without_handlers, by_clone};

// The exit code of a child that runs `body`.
template <class Body>
int forked(const Body& body, Fork fork = with_handlers) {
  const pid_t child = fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

TEST(ProcessMark, IsOfTheProcessThatMadeIt) {
  const ProcessMark mark;
  EXPECT_TRUE(mark.is_of_this_process());
  for (const Fork fork : kWays)
    EXPECT_EQ(forked([&] { return mark.is_of_this_process() ? 1 : 0; }, fork), 0);
  EXPECT_TRUE(mark.is_of_this_process()) << "after a fork";
}

TEST(ProcessMark, OfAChildIsNotItsChilds) {
  const ProcessMark mark;
  for (const Fork fork : kWays) {
    const auto grandchild = [&](const ProcessMark& parents) {
      const bool is_any = parents.is_of_this_process() || mark.is_of_this_process();
      return is_any || !ProcessMark().is_of_this_process() ? 2 : 0;
    };
    const auto child = [&] {
      const ProcessMark own;
      if (!own.is_of_this_process() || mark.is_of_this_process()) return 1;
      return forked([&] { return grandchild(own); }, fork);
    };
    EXPECT_EQ(forked(child, fork), 0);
  }
}

// As in PID namespaces: a parent and its child may both have process id 1.
TEST(ProcessMark, OfAParentWithTheSameProcessIdIsNotItsChilds) {
  const auto first_of_its_namespace = [] {
    const ProcessMark mark;
    if (::unshare(CLONE_NEWPID) != 0) return 77;
    return forked([&] { return ::getpid() != 1 || mark.is_of_this_process() ? 1 : 0; });
  };
  const auto outside = [&] {
    return ::unshare(CLONE_NEWPID) == 0 ? forked(first_of_its_namespace) : 77;
  };
  const int code = forked(outside);
  if (code == 77) GTEST_SKIP() << "this needs the right to make PID namespaces";
  EXPECT_EQ(code, 0);
}

TEST(ProcessMark, SaysWhoseItIsAndWhatToDo) {
  const ProcessMark mark;
  const std::string parent = std::to_string(::getpid());
  EXPECT_EQ(forked([&] {
              const Status why = mark.refusal("thing");
              const std::string wanted =
                  "this thing belongs to process " + parent + " and cannot be used in process " +
                  std::to_string(::getpid()) + ", which was forked from it; use it in process " +
                  parent + ", or call exec in the child, which can then join a group of its own";
              return why.code() == Code::kInvalidArgument && why.text() == wanted ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace paceline
