#include "launcher/job/hosts_aside.h"

#include <chrono>

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

using std::chrono::seconds;

TEST(HostsAside, AHostIsAsideForItsTime) {
  const TimePoint now{std::chrono::hours(1)};
  HostsAside aside;
  EXPECT_EQ(aside.text(now), "");
  aside.add("b", "the agent is gone", now + seconds(5));
  aside.add("c", "it is cut off", now + seconds(9));
  EXPECT_FALSE(aside.has("a", now));
  EXPECT_TRUE(aside.has("b", now + seconds(5)));
  EXPECT_FALSE(aside.has("b", now + seconds(6)));
  EXPECT_EQ(aside.text(now), "host b (the agent is gone), host c (it is cut off)");
  EXPECT_EQ(aside.text(now + seconds(6)), "host c (it is cut off)");
}

TEST(HostsAside, TheLastFailureOfAHostCounts) {
  const TimePoint now{std::chrono::hours(1)};
  HostsAside aside;
  aside.add("b", "once", now + seconds(9));
  aside.add("b", "twice", now + seconds(5));
  EXPECT_EQ(aside.text(now), "host b (twice)");
  EXPECT_FALSE(aside.has("b", now + seconds(6)));
}

TEST(HostsAside, WithoutACoolDownAHostIsAsideForTheMoment) {
  const TimePoint now{std::chrono::hours(1)};
  HostsAside aside;
  aside.add("b", "gone", now);
  EXPECT_TRUE(aside.has("b", now));
  EXPECT_FALSE(aside.has("b", now + seconds(1)));
}

}  // namespace
}  // namespace paceline::launcher
