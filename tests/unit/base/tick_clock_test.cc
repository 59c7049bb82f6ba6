#include "comm/base/tick_clock.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace paceline {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::uint64_t kTicksPerMs = 3 * kMs;  // of a counter of 3 GHz

// What a look that took 40 ns, at `ns` of a counter that began at `first`, finds.
TickCount::Look look_at(std::int64_t ns, std::uint64_t first = 1000) {
  const std::uint64_t ticks = first + static_cast<std::uint64_t>(ns) * 3;
  return {.before = ticks - 60, .ns = ns, .after = ticks + 60};
}

TickCount after_two_looks() {
  TickCount count;
  count.learn(look_at(5 * kMs));
  count.learn(look_at(7 * kMs));
  return count;
}

bool is_about(std::int64_t ns, std::int64_t expected) {
  return ns > expected - 1000 && ns < expected + 1000;
}

TEST(TickCount, KnowsNothingBeforeTwoLooksThatAreFarEnoughApart) {
  TickCount count;
  EXPECT_FALSE(count.covers(0));
  count.learn(look_at(5 * kMs));
  EXPECT_FALSE(count.covers(look_at(5 * kMs).after));
  count.learn(look_at(5 * kMs + 1000));
  EXPECT_FALSE(count.covers(look_at(5 * kMs + 1000).after));
  count.learn(look_at(6 * kMs));
  EXPECT_TRUE(count.covers(look_at(6 * kMs).after));
}

TEST(TickCount, IsNeverAheadAndLessThanAMicrosecondLate) {
  const TickCount count = after_two_looks();
  for (std::int64_t ns = 7 * kMs + 20; ns < 8 * kMs; ns += 997) {
    const std::uint64_t ticks = 1000 + static_cast<std::uint64_t>(ns) * 3;
    ASSERT_TRUE(count.covers(ticks));
    ASSERT_LE(count.at(ticks), ns);
    ASSERT_GT(count.at(ticks), ns - 1000);
  }
}

TEST(TickCount, AsksAgainAfterAMillisecondAndWhereTheCounterWentBack) {
  const TickCount count = after_two_looks();
  const std::uint64_t last = look_at(7 * kMs).after;
  EXPECT_TRUE(count.covers(last + kTicksPerMs - 10));
  EXPECT_FALSE(count.covers(last + kTicksPerMs + 10));
  EXPECT_FALSE(count.covers(last - 1));
}

TEST(TickCount, LeavesAnInterruptedLookAside) {
  TickCount count = after_two_looks();
  TickCount::Look interrupted = look_at(9 * kMs);
  interrupted.after += kTicksPerMs;
  count.learn(interrupted);
  EXPECT_FALSE(count.covers(interrupted.after));
  EXPECT_EQ(count.at(look_at(7 * kMs).after), 7 * kMs);
}

// A suspended machine whose counter ran on: ticks seem far shorter than they are.
TEST(TickCount, IsWrongForAFewMillisecondsAtMostWhereTheClockStoodStill) {
  TickCount count = after_two_looks();
  const std::uint64_t slept = 3'000'000'000'000;
  count.learn(look_at(500 * kMs, 1000 + slept));
  const std::uint64_t last = look_at(500 * kMs, 1000 + slept).after;
  EXPECT_FALSE(count.covers(last + 4 * kTicksPerMs));
  count.learn(look_at(504 * kMs, 1000 + slept));
  const std::int64_t then = 504 * kMs + kMs / 2;
  EXPECT_TRUE(is_about(count.at(look_at(then, 1000 + slept).after), then));
}

TEST(TickCount, LearnsNothingFromALongSilence) {
  TickCount count = after_two_looks();
  const std::int64_t later = 3'600'000 * kMs;
  count.learn(look_at(later));
  EXPECT_TRUE(is_about(count.at(look_at(later + kMs / 2).after), later + kMs / 2));
}

// In each round the system's clock is asked before and behind.
TEST(TickClock, NeverGoesBackAndFollowsTheSystemsClock) {
  const TickClock ticks;
  const SystemClock system;
  TimePoint last = ticks.now();
  Duration latest{};
  for (int i = 0; i < 300'000; ++i) {
    const TimePoint before = system.now();
    const TimePoint now = ticks.now();
    const TimePoint after = system.now();
    ASSERT_GE(now, last);
    ASSERT_LE(now, after);
    latest = std::max(latest, before - now);
    last = now;
  }
  EXPECT_LT(latest, std::chrono::microseconds(1));
}

}  // namespace
}  // namespace paceline
