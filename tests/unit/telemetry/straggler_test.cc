#include "telemetry/job/straggler.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline {
namespace {

// A job of 8 ranks in which rank 5 comes 40 % of the time late.
class StragglerTest : public ::testing::Test {
 protected:
  StragglerTest() {
    for (RankEvidence& rank : ranks_)
      rank = {.waited_for = 0.01, .compute = 0.5, .input = 0.02, .queued = 0.03};
    late().waited_for = 0.4;
  }

  RankEvidence& late() { return ranks_[5]; }
  Cause cause() const {
    const std::vector<Straggler> found = find_stragglers(ranks_);
    EXPECT_EQ(found.size(), 1u);
    if (found.empty()) return Cause::kUnknown;
    EXPECT_EQ(found[0].rank, 5);
    return found[0].cause;
  }

  std::vector<RankEvidence> ranks_{8};
};

TEST_F(StragglerTest, LongerComputation) {
  late().compute = 0.9;
  EXPECT_EQ(cause(), Cause::kComputesLonger);
}

TEST_F(StragglerTest, LongerInput) {
  late().input = 0.42;
  EXPECT_EQ(cause(), Cause::kInput);
  late().blocked = 0.4;  // reading it
  EXPECT_EQ(cause(), Cause::kInput);
}

TEST_F(StragglerTest, AQuota) {
  late().compute = 0.9;
  late().queued = 0.4;
  late().throttled = 0.35;
  EXPECT_EQ(cause(), Cause::kThrottled);
}

TEST_F(StragglerTest, OtherLoad) {
  late().compute = 0.9;
  late().queued = 0.4;
  EXPECT_EQ(cause(), Cause::kNoCpu);
}

TEST_F(StragglerTest, Stops) {
  late().compute = 0.9;
  late().stopped = 0.35;
  EXPECT_EQ(cause(), Cause::kStopped);
}

TEST_F(StragglerTest, PagesThatAreReadAgain) {
  late().compute = 0.9;
  late().blocked = 0.3;
  late().major_faults_per_s = 500;
  EXPECT_EQ(cause(), Cause::kMemory);
}

TEST_F(StragglerTest, OtherWork) {
  late().other = 0.3;
  EXPECT_EQ(cause(), Cause::kOther);
}

TEST_F(StragglerTest, NoEvidence) { EXPECT_EQ(cause(), Cause::kUnknown); }

TEST_F(StragglerTest, TwoAreNamedTheWorstFirst) {
  late().compute = 0.9;
  ranks_[2].waited_for = 0.5;
  ranks_[2].stopped = 0.5;
  const auto found = find_stragglers(ranks_);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].rank, 2);
  EXPECT_EQ(found[0].cause, Cause::kStopped);
  EXPECT_EQ(found[1].rank, 5);
}

TEST_F(StragglerTest, NobodyIsNamedWhereWaitsAreShortOrSpread) {
  late().waited_for = 0.03;
  EXPECT_TRUE(find_stragglers(ranks_).empty());
  for (RankEvidence& rank : ranks_) rank.waited_for = 0.06;
  late().waited_for = 0.1;
  EXPECT_TRUE(find_stragglers(ranks_).empty());
  EXPECT_TRUE(find_stragglers({}).empty());
  EXPECT_TRUE(find_stragglers({{.waited_for = 1}}).empty());
}

}  // namespace
}  // namespace paceline
