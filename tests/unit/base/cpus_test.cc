#include "comm/base/cpus.h"

#include <algorithm>
#include <cstddef>
#include <string>

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
  EXPECT_GE(CpuSet::affinity().count(), all);
  {
    const BoundToOneCpu bound;
    EXPECT_EQ(allowed_cpus(), 1);
  }
  EXPECT_EQ(allowed_cpus(), all);
}

TEST(CpuSets, AddUpAndGoThroughText) {
  CpuSet set;
  EXPECT_EQ(set.count(), 0);
  EXPECT_EQ(allowed_cpus(set), 1);
  set.add(3);
  set.add(1);
  EXPECT_EQ(set.to_text(), "0101");
  CpuSet other = CpuSet::parse("111").value();
  other.add(set);
  EXPECT_EQ(other.to_text(), "1111");
  EXPECT_EQ(other.count(), 4);
  EXPECT_EQ(CpuSet::parse(CpuSet::affinity().to_text())->count(), CpuSet::affinity().count());
  EXPECT_FALSE(CpuSet::parse("1,2"));
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
  const std::string before = CpuSet::affinity().to_text();
  const int cpus = CpuSet::affinity().count();
  // It may have been moved on since, but not every time.
  int arrived = 0;
  for (int turn = 0; turn < 20 * cpus; ++turn) {
    go_to_cpu(turn);
    const auto cpu = static_cast<std::size_t>(sched_getcpu());
    if (std::ranges::count(before.substr(0, cpu), '1') == turn % cpus) ++arrived;
  }
  EXPECT_GT(arrived, 10 * cpus);
  EXPECT_EQ(CpuSet::affinity().to_text(), before);
}

TEST(LeaveCpu, WhoIsBoundToOneCpuStays) {
  const BoundToOneCpu bound;
  const int before = sched_getcpu();
  leave_cpu();
  EXPECT_EQ(sched_getcpu(), before);
}

}  // namespace
}  // namespace paceline
