#include "comm/base/clock.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

class FixedClock final : public Clock {
 public:
  explicit FixedClock(Duration since_epoch) : now_(since_epoch) {}
  TimePoint now() const override { return now_; }

 private:
  TimePoint now_;
};

TEST(Deadline, PassesAtItsMomentAndNotBefore) {
  const FixedClock clock(std::chrono::seconds(10));
  const Deadline deadline = Deadline::after(clock, std::chrono::seconds(5));
  const TimePoint moment = clock.now() + std::chrono::seconds(5);
  EXPECT_EQ(deadline.moment(), moment);
  EXPECT_FALSE(deadline.passed(moment - Duration(1)));
  EXPECT_TRUE(deadline.passed(moment));
  EXPECT_EQ(deadline.left(moment - Duration(1)), Duration(1));
  EXPECT_EQ(deadline.left(moment), Duration::zero());
  EXPECT_EQ(deadline.left(moment + Duration(1)), Duration::zero());
}

TEST(Deadline, FarAwayIsTheEndOfTimeAndNotThePast) {
  const FixedClock clock(std::chrono::hours(24));
  for (const Duration timeout : {Duration::max(), Duration::max() - Duration(1)}) {
    const Deadline deadline = Deadline::after(clock, timeout);
    EXPECT_EQ(deadline.moment(), TimePoint::max());
    EXPECT_FALSE(deadline.passed(clock.now()));
    EXPECT_EQ(deadline.left(clock.now()), TimePoint::max() - clock.now());
  }
}

TEST(Deadline, TheLongestTimeoutThatFitsIsKept) {
  const FixedClock clock(Duration(7));
  EXPECT_EQ(Deadline::after(clock, Duration::max() - Duration(7)).moment(), TimePoint::max());
  EXPECT_EQ(Deadline::after(clock, Duration::max() - Duration(8)).moment(),
            TimePoint::max() - Duration(1));
}

TEST(Deadline, NoTimeAndLessThanNoneHavePassedAlready) {
  const FixedClock clock(Duration(100));
  EXPECT_TRUE(Deadline::after(clock, Duration::zero()).passed(clock.now()));
  EXPECT_TRUE(Deadline::after(clock, Duration(-1)).passed(clock.now()));
  EXPECT_TRUE(Deadline::after(clock, Duration::min()).passed(clock.now()));
  EXPECT_TRUE(Deadline::at(clock.now()).passed(clock.now()));
}

TEST(SystemClock, NeverGoesBack) {
  const SystemClock clock;
  TimePoint last = clock.now();
  for (int i = 0; i < 10'000; ++i) {
    const TimePoint now = clock.now();
    ASSERT_GE(now, last);
    last = now;
  }
  EXPECT_GT(last.time_since_epoch(), Duration::zero());
}

}  // namespace
}  // namespace paceline
