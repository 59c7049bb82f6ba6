#include "comm/base/cpus.h"

#include <cstddef>

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
  {
    const BoundToOneCpu bound;
    EXPECT_EQ(allowed_cpus(), 1);
  }
  EXPECT_EQ(allowed_cpus(), all);
}

}  // namespace
}  // namespace paceline
