#include "comm/base/cpus.h"

#include <cstddef>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>

namespace paceline {
namespace {

// Bound to one CPU while it lives.
class BoundToOneCpu {
 public:
  BoundToOneCpu() {
    sched_getaffinity(0, sizeof before_, &before_);
    std::size_t cpu = 0;
    while (!CPU_ISSET(cpu, &before_)) ++cpu;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  ~BoundToOneCpu() { sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_{};
};

TEST(AllowedCpus, FollowTheAffinityAndNotTheMachine) {
  const int all = allowed_cpus();
  EXPECT_GE(all, 1);
  EXPECT_EQ(allowed_cpus(CpuSet()), 1);
  EXPECT_GE(affinity().count(), all);
  {
    const BoundToOneCpu bound;
    EXPECT_EQ(allowed_cpus(), 1);
  }
  EXPECT_EQ(allowed_cpus(), all);
}

TEST(LeaveCpu, MovesTheThreadAndLeavesItsAffinityAsItWas) {
  const int all = allowed_cpus();
  const int before = sched_getcpu();
  leave_cpu();
  cpu_set_t after;
  sched_getaffinity(0, sizeof after, &after);
  EXPECT_EQ(allowed_cpus(), all);
  if (CPU_COUNT(&after) == 1) GTEST_SKIP() << "there is one CPU only";
  // It may have been moved back since, but not every time.
  int moved = sched_getcpu() != before ? 1 : 0;
  for (int i = 0; i < 20; ++i) {
    const int from = sched_getcpu();
    leave_cpu();
    if (sched_getcpu() != from) ++moved;
  }
  EXPECT_GT(moved, 0);
}

TEST(GoToCpu, GoesAroundAndLeavesTheAffinityAsItWas) {
  const CpuSet before = affinity();
  const std::vector<std::size_t> cpus = before.cpus();
  // It may have been moved on since, but not every time.
  int arrived = 0;
  for (int turn = 0; turn < 20 * before.count(); ++turn) {
    go_to_cpu(turn);
    const auto place = static_cast<std::size_t>(turn) % cpus.size();
    if (static_cast<std::size_t>(sched_getcpu()) == cpus[place]) ++arrived;
  }
  EXPECT_GT(arrived, 10 * before.count());
  EXPECT_EQ(affinity(), before);
}

TEST(LeaveCpu, WhoIsBoundToOneCpuStays) {
  const BoundToOneCpu bound;
  const int before = sched_getcpu();
  leave_cpu();
  EXPECT_EQ(sched_getcpu(), before);
}

}  // namespace
}  // namespace paceline
