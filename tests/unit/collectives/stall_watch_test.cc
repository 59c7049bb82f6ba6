#include "collectives/failure/stall_watch.h"

#include <vector>

#include <gtest/gtest.h>

namespace paceline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TimePoint at(milliseconds since_begin) { return TimePoint{} + seconds(1000) + since_begin; }

// Moments at which a round begins, when the watch is looked at whenever it wants to be.
std::vector<long> rounds(StallWatch& watch, milliseconds until) {
  std::vector<long> moments;
  for (int looks = 0; looks < 10'000; ++looks) {
    const TimePoint now = watch.wake_at();
    if (now > at(until) || watch.is_over(now)) return moments;
    if (watch.report_is_due(now)) watch.reported(now);
    if (!watch.round_is_due(now)) continue;
    moments.push_back(std::chrono::duration_cast<milliseconds>(now - at({})).count());
    watch.begin_round(now);
  }
  ADD_FAILURE() << "it never rests";
  return moments;
}

TEST(StallWatch, RoundsBecomeRarerAndTheLastPrecedesTheDeadline) {
  StallWatch watch(seconds(300));
  watch.begin(at({}), at({}), seconds(30));
  EXPECT_EQ(rounds(watch, seconds(40)),
            (std::vector<long>{200, 600, 1400, 3000, 6200, 12600, 22600, 29000}));
}

TEST(StallWatch, ProgressStartsItAnew) {
  StallWatch watch(seconds(300));
  watch.begin(at({}), at({}), seconds(10));
  EXPECT_EQ(rounds(watch, seconds(2)), (std::vector<long>{200, 600, 1400}));
  watch.moved(at(seconds(2)));
  EXPECT_EQ(watch.stalled_for(at(seconds(5))), seconds(3));
  EXPECT_EQ(rounds(watch, milliseconds(2700)), (std::vector<long>{2200, 2600}));
}

TEST(StallWatch, AShortDeadlineLeavesTimeForAnAnswer) {
  StallWatch watch(seconds(30));
  watch.begin(at({}), at({}), milliseconds(100));
  EXPECT_EQ(watch.patience(), milliseconds(25));
  EXPECT_EQ(rounds(watch, seconds(1)), std::vector<long>{75});
  EXPECT_TRUE(watch.is_over(at(milliseconds(100))));
}

TEST(StallWatch, ReportsComeAtTheirIntervalAndAfterTheAnswersOfARound) {
  StallWatch watch(seconds(3));
  watch.begin(at({}), at({}), seconds(300));
  EXPECT_FALSE(watch.report_is_due(at(milliseconds(2999))));
  watch.begin_round(at(milliseconds(2500)));
  EXPECT_FALSE(watch.report_is_due(at(seconds(3)))) << "answers may still come";
  EXPECT_TRUE(watch.report_is_due(at(milliseconds(3500))));
  watch.reported(at(milliseconds(3500)));
  EXPECT_FALSE(watch.report_is_due(at(milliseconds(6499))));
  EXPECT_TRUE(watch.report_is_due(at(milliseconds(6500))));
}

}  // namespace
}  // namespace paceline
