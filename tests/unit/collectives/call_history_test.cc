#include "collectives/failure/call_history.h"

#include <vector>

#include <gtest/gtest.h>

namespace paceline {
namespace {

// What a rank that called all_reduce on these counts has in mind.
CallHistory history_of(const std::vector<std::uint64_t>& counts) {
  CallHistory history;
  for (const std::uint64_t count : counts) {
    history.begin({.sequence = history.begun(),
                   .count = count,
                   .kind = OperationKind::kAllReduce,
                   .history = history.digest()});
  }
  return history;
}

TEST(CallHistory, TheSameCallsHaveTheSameDigest) {
  EXPECT_EQ(history_of({1, 2, 3}).digest(), history_of({1, 2, 3}).digest());
  EXPECT_NE(history_of({1, 2, 3}).digest(), history_of({1, 2, 4}).digest());
  EXPECT_NE(history_of({1, 2, 3}).digest(), history_of({2, 1, 3}).digest());
  EXPECT_NE(history_of({0}).digest(), history_of({}).digest()) << "empty operations count";
}

// But its number, which the history implies.
TEST(CallHistory, EveryFieldOfACallChangesTheDigest) {
  const Signature call{.sequence = 3, .count = 5, .root = 1, .plan = 9, .history = 7};
  std::vector<Signature> others(7, call);
  others[0].history = 8;
  others[1].count = 6;
  others[2].root = 2;
  others[3].plan = 8;
  others[4].kind = OperationKind::kBroadcast;
  others[5].type = DataType::kInt64;
  others[6].op = ReduceOp::kMax;
  for (const Signature& other : others) EXPECT_NE(other.next_history(), call.next_history());
}

TEST(CallHistory, RemembersTheLast) {
  std::vector<std::uint64_t> counts(CallHistory::kRemembered + 10);
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = i;
  const CallHistory history = history_of(counts);
  EXPECT_EQ(history.find(9), nullptr) << "forgotten";
  ASSERT_NE(history.find(10), nullptr);
  EXPECT_EQ(history.find(10)->count, 10u);
  EXPECT_EQ(history.find(counts.size()), nullptr) << "not begun";
  const std::vector<Signature> recent = history.recent();
  ASSERT_EQ(recent.size(), CallHistory::kRemembered);
  EXPECT_EQ(recent.front().sequence, 10u);
  EXPECT_EQ(recent.back().sequence, counts.size() - 1);
}

TEST(CallHistory, TheFirstDifferenceIsNamed) {
  const CallHistory mine = history_of({1, 2, 3, 4});
  EXPECT_FALSE(mine.first_difference(history_of({1, 2, 3}).recent())) << "being behind is none";
  EXPECT_FALSE(mine.first_difference(history_of({1, 2, 3, 4, 5}).recent())) << "nor being ahead";
  const auto difference = mine.first_difference(history_of({1, 7, 3, 8}).recent());
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->mine.to_string(), mine.find(1)->to_string());
  EXPECT_EQ(difference->theirs.count, 7u);
}

// What differs lies before all that is remembered, so only the digests can tell.
TEST(CallHistory, ADifferenceThatIsForgottenStillShows) {
  std::vector<std::uint64_t> counts(CallHistory::kRemembered + 5, 1);
  const CallHistory mine = history_of(counts);
  counts[0] = 2;
  const auto difference = mine.first_difference(history_of(counts).recent());
  ASSERT_TRUE(difference);
  EXPECT_TRUE(difference->mine.is_same_call(difference->theirs));
  EXPECT_EQ(paceline::difference(difference->mine, difference->theirs),
            "the operations before this one differ");
}

}  // namespace
}  // namespace paceline
