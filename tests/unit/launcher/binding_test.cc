#include "launcher/system/binding.h"

#include <string>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/base/cpus.h"

namespace paceline::launcher {
namespace {

// What a process that has applied the binding is bound to.
BoundTo bound_child(const Binding& binding) {
  int ready[2];
  EXPECT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    binding.apply();
    [[maybe_unused]] const ssize_t told = ::write(ready[1], "", 1);
    ::pause();
    ::_exit(0);
  }
  char byte = 0;
  EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  const auto bound = bound_to(child);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
  EXPECT_TRUE(bound.has_value());
  return bound.value_or(BoundTo());
}

TEST(Binding, IsWhatTheKernelSaysThatItIs) {
  CpuSet one;
  one.add(affinity().first());
  const BoundTo bound = bound_child(Binding(one, {0}));
  EXPECT_EQ(bound.cpus, one);
  EXPECT_EQ(preferred_nodes(bound.memory).to_text(), "0") << bound.memory;
}

TEST(Binding, LeavesAsItIsWhatIsNotAskedFor) {
  const BoundTo bound = bound_child(Binding({}, {}));
  EXPECT_EQ(bound.cpus, affinity());
  EXPECT_EQ(preferred_nodes(bound.memory), CpuSet());
}

TEST(Binding, LeavesAsItIsWhatTheKernelRefuses) {
  CpuSet absent;
  absent.add(CpuSet::kMostCpus - 1);
  EXPECT_EQ(bound_child(Binding(absent, {1000})).cpus, affinity());
}

TEST(Binding, OfAProcessThatHasGoneIsNone) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t ended;
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(bound_to(child), std::nullopt);  // a zombie
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(bound_to(child), std::nullopt);
}

TEST(Binding, PreferredNodesAreThoseOfThePolicy) {
  EXPECT_EQ(preferred_nodes("prefer (many):0-1").to_text(), "0-1");
  EXPECT_EQ(preferred_nodes("prefer:3").to_text(), "3");
  EXPECT_EQ(preferred_nodes("default").to_text(), "");
  EXPECT_EQ(preferred_nodes("").to_text(), "");
  EXPECT_EQ(preferred_nodes("bind:x").to_text(), "");
}

}  // namespace
}  // namespace paceline::launcher
