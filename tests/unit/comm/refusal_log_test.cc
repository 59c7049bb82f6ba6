#include "comm/refusal_log.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/harness/collecting_log.h"

namespace paceline::testing {
namespace {

TEST(RefusalLog, TheFirstOfEachAddressAndReasonIsLoggedAndAllAreCounted) {
  const auto log = std::make_shared<CollectingLog>();
  RefusalLog refusals(log, "store at 10.0.0.1:4000");
  for (int port = 1; port <= 100; ++port) {
    refusals.refused("10.0.0.7:" + std::to_string(port), "noise");
    refusals.refused("[::1]:" + std::to_string(port), "noise");
  }
  refusals.refused("10.0.0.7:1", "silence");
  refusals.refused("10.0.0.70:1", "noise");
  EXPECT_EQ(refusals.count(), 202u);
  ASSERT_EQ(log->lines().size(), 4u);
  EXPECT_EQ(log->count("store at 10.0.0.1:4000: refused 10.0.0.7:1: noise"), 1u);
  EXPECT_EQ(log->count("refused [::1]:1: noise"), 1u);
  EXPECT_EQ(log->count("refused 10.0.0.7:1: silence"), 1u);
  EXPECT_EQ(log->count("refused 10.0.0.70:1: noise"), 1u);
  for (const auto& line : log->lines()) EXPECT_EQ(line.severity, Severity::kWarning);
}

TEST(RefusalLog, AnAddressWithoutAPortIsTakenWhole) {
  const auto log = std::make_shared<CollectingLog>();
  RefusalLog refusals(log, "listener");
  for (const char* address : {"user 1", "user 2", "unix:@name", "unix:", "", ":"}) {
    refusals.refused(address, "why");
    refusals.refused(address, "why");
  }
  EXPECT_EQ(log->lines().size(), 6u);
}

TEST(RefusalLog, BeyondItsBoundPeersAreOnlyCountedAndTheLastLineSaysSo) {
  const auto log = std::make_shared<CollectingLog>();
  RefusalLog refusals(log, "listener");
  for (std::size_t i = 0; i < 2 * RefusalLog::kMaxRemembered; ++i) {
    refusals.refused("host" + std::to_string(i) + ":1", "why");
  }
  EXPECT_EQ(refusals.count(), 2 * RefusalLog::kMaxRemembered);
  ASSERT_EQ(log->lines().size(), RefusalLog::kMaxRemembered);
  EXPECT_EQ(log->count("all later refusals are only counted"), 1u);
  EXPECT_NE(log->lines().back().text.find("all later refusals"), std::string::npos);
}

TEST(RefusalLog, AFailureToAcceptIsLoggedOnce) {
  const auto log = std::make_shared<CollectingLog>();
  RefusalLog refusals(log, "rank 1");
  for (int i = 0; i < 3; ++i) refusals.cannot_accept("Too many open files");
  ASSERT_EQ(log->lines().size(), 1u);
  EXPECT_EQ(log->lines()[0].text,
            "rank 1: cannot accept connections: Too many open files; retries until it succeeds");
  EXPECT_EQ(refusals.count(), 0u);
}

TEST(RefusalLog, WithoutALogItCounts) {
  RefusalLog refusals(nullptr, "listener");
  refusals.refused("10.0.0.7:1", "why");
  EXPECT_EQ(refusals.count(), 1u);
}

}  // namespace
}  // namespace paceline::testing
