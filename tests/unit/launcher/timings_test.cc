#include "launcher/head/timings.h"

#include <gtest/gtest.h>

#include "tests/unit/launcher/says.h"

namespace paceline::launcher {
namespace {

TimePoint at(int ms) { return TimePoint(std::chrono::milliseconds(ms)); }

TEST(Timings, OfWhatNobodyCameToNothingIsSaid) {
  const std::string table = Timings(at(100)).table();
  EXPECT_FALSE(says(table, "init started")) << table;
  EXPECT_FALSE(says(table, "the longest")) << table;
}

TEST(Timings, ShowTheFirstAndTheLastOfEachStage) {
  Timings timings(at(100));
  timings.came(Stage::kStarted, at(130), "rank 0");
  timings.came(Stage::kStarted, at(150), "rank 2");
  timings.came(Stage::kStarted, at(120), "rank 1");
  const std::string table = timings.table();
  EXPECT_TRUE(says(table, "ranks started                        20.0       50.0  rank 2")) << table;
  EXPECT_FALSE(says(table, "rank 1")) << table;
}

TEST(Timings, OfAStageThatOneCameToNobodyIsNamed) {
  Timings timings(at(0));
  timings.came(Stage::kAgent, at(7), "host h1");
  EXPECT_FALSE(says(timings.table(), "h1")) << timings.table();
}

TEST(Timings, TheLongestWayIsFromTheLastOfAStageToTheLastOfTheNextThatWasReached) {
  Timings timings(at(0));
  timings.came(Stage::kRead, at(1));
  timings.came(Stage::kStarted, at(10), "rank 0");
  timings.came(Stage::kStarted, at(20), "rank 1");
  timings.came(Stage::kEnded, at(60), "rank 0");
  timings.came(Stage::kEnded, at(55), "rank 1");
  timings.came(Stage::kCleared, at(61), "host h");
  EXPECT_TRUE(says(timings.table(), "the longest stage: 40.0 ms, ranks started to ranks ended"))
      << timings.table();
}

}  // namespace
}  // namespace paceline::launcher
