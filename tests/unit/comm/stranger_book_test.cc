#include "comm/stranger_book.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/harness/collecting_log.h"

namespace paceline::testing {
namespace {

TEST(StrangerBook, TheFirstOfEachAddressAndReasonIsLoggedAndAllAreCounted) {
  const auto log = std::make_shared<CollectingLog>();
  StrangerBook book(log, "store at 10.0.0.1:4000");
  for (int port = 1; port <= 100; ++port) {
    book.refused("10.0.0.7:" + std::to_string(port), "noise");
    book.refused("[::1]:" + std::to_string(port), "noise");
  }
  book.refused("10.0.0.7:1", "silence");
  book.refused("10.0.0.70:1", "noise");
  EXPECT_EQ(book.count(), 202u);
  ASSERT_EQ(log->lines().size(), 4u);
  EXPECT_EQ(log->count("store at 10.0.0.1:4000: refused 10.0.0.7:1: noise"), 1u);
  EXPECT_EQ(log->count("refused [::1]:1: noise"), 1u);
  EXPECT_EQ(log->count("refused 10.0.0.7:1: silence"), 1u);
  EXPECT_EQ(log->count("refused 10.0.0.70:1: noise"), 1u);
  for (const auto& line : log->lines()) EXPECT_EQ(line.severity, Severity::kWarning);
}

TEST(StrangerBook, AnAddressWithoutAPortIsTakenWhole) {
  const auto log = std::make_shared<CollectingLog>();
  StrangerBook book(log, "door");
  for (const char* address : {"user 1", "user 2", "unix:@name", "unix:", "", ":"}) {
    book.refused(address, "why");
    book.refused(address, "why");
  }
  EXPECT_EQ(log->lines().size(), 6u);
}

TEST(StrangerBook, BeyondItsBoundStrangersAreOnlyCountedAndTheLastLineSaysSo) {
  const auto log = std::make_shared<CollectingLog>();
  StrangerBook book(log, "door");
  for (std::size_t i = 0; i < 2 * StrangerBook::kMaxRemembered; ++i) {
    book.refused("host" + std::to_string(i) + ":1", "why");
  }
  EXPECT_EQ(book.count(), 2 * StrangerBook::kMaxRemembered);
  ASSERT_EQ(log->lines().size(), StrangerBook::kMaxRemembered);
  EXPECT_EQ(log->count("all later refusals are only counted"), 1u);
  EXPECT_NE(log->lines().back().text.find("all later refusals"), std::string::npos);
}

TEST(StrangerBook, WithoutALogItCounts) {
  StrangerBook book(nullptr, "door");
  book.refused("10.0.0.7:1", "why");
  EXPECT_EQ(book.count(), 1u);
}

}  // namespace
}  // namespace paceline::testing
