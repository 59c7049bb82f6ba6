#include "collectives/join_report.h"

#include <chrono>
#include <vector>

#include <gtest/gtest.h>

#include "tests/harness/collecting_log.h"

namespace paceline {
namespace {

using testing::CollectingLog;

class JoinReportTest : public ::testing::Test {
 protected:
  // How many lines a rank of 12 writes of these.
  std::size_t lines_of(int rank, const std::vector<int>& missing) {
    const std::size_t before = log_->lines().size();
    const JoinReport report({.rank = rank, .size = 12, .part = "", .every = {}, .log = log_});
    report.say(missing, std::chrono::seconds(30));
    return log_->lines().size() - before;
  }

  const std::shared_ptr<CollectingLog> log_ = std::make_shared<CollectingLog>();
};

TEST_F(JoinReportTest, TheFirstOfThoseWhoHaveComeNamesTheOthers) {
  EXPECT_EQ(lines_of(0, {1}), 1u);
  EXPECT_EQ(log_->lines().back().severity, Severity::kWarning);
  EXPECT_EQ(log_->lines().back().text,
            "rank 0 of 12 has waited 30 s for ranks that have not joined: rank 1");
  EXPECT_EQ(lines_of(2, {1}), 0u) << "rank 0 says it";
  EXPECT_EQ(lines_of(2, {0, 1, 7}), 1u);
  EXPECT_EQ(lines_of(3, {0, 1, 7}), 0u);
  EXPECT_EQ(lines_of(0, {}), 0u);
}

TEST_F(JoinReportTest, ManyAreNotAllNamed) {
  EXPECT_EQ(lines_of(0, {1, 2, 3, 4, 5, 6, 7, 8, 9}), 1u);
  EXPECT_EQ(log_->lines().back().text,
            "rank 0 of 12 has waited 30 s for ranks that have not joined: ranks 1, 2, 3, 4, 5, 6, "
            "7, 8, …");
}

TEST_F(JoinReportTest, APartOfTheWorldIsNamed) {
  const JoinReport report(
      {.rank = 0, .size = 2, .part = "split #3, color 1", .every = {}, .log = log_});
  const int missing[] = {1};
  report.say(missing, std::chrono::seconds(1));
  EXPECT_EQ(
      log_->lines().back().text,
      "rank 0 of 2 has waited 1 s in split #3, color 1 for ranks that have not joined: rank 1");
}

}  // namespace
}  // namespace paceline
