#include "launcher/channel/silence.h"

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

constexpr Duration kPatience = 3 * kAlivePeriod;

TEST(Silence, IsOverOnlyAfterAsManyLooksAsThePatienceHasPeriods) {
  Silence silence;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(silence.look(kPatience)) << i;
  EXPECT_TRUE(silence.look(kPatience));
  EXPECT_TRUE(silence.look(kPatience));
}

TEST(Silence, AnAgentThatWritesFilesMayWaitForTheirFileSystem) {
  EXPECT_EQ(max_agent_silence(kMaxSilence, false), kMaxSilence);
  EXPECT_GT(max_agent_silence(kMaxSilence, true), kMaxFileWait);
}

TEST(Silence, WhateverComesBreaksIt) {
  Silence silence;
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(silence.look(kPatience)) << i;
    if (i % 3 == 2) silence.broken();
  }
}

}  // namespace
}  // namespace paceline::launcher
