#include "telemetry/job/step_series.h"

#include <chrono>
#include <vector>

#include <gtest/gtest.h>

namespace paceline {
namespace {

// The sums of `ranks` ranks after some steps of `step_s` each, half of it computation.
StepBlock sums(double steps, double step_s, int ranks = 1) {
  const double seconds = ranks * steps * step_s;
  return {.steps = ranks * steps,
          .samples = 10 * ranks * steps,
          .parts = {seconds / 2, seconds / 4, seconds / 4, 0}};
}

StepBlock sum_of(const std::vector<StepBlock>& blocks) {
  StepBlock sum;
  for (const StepBlock& block : blocks) sum += block;
  return sum;
}

TEST(StepSeries, StartsEmpty) {
  EXPECT_TRUE(StepSeries().blocks().empty());
  StepSeries series;
  series.take({}, 0);
  EXPECT_TRUE(series.blocks().empty());
}

TEST(StepSeries, ABlockIsASecond) {
  StepSeries series;
  for (int second = 1; second <= 5; ++second) series.take(sums(100 * second, 0.01), 1);
  const std::vector<StepBlock> blocks = series.blocks();
  ASSERT_EQ(blocks.size(), 5u);
  for (const StepBlock& block : blocks) {
    EXPECT_NEAR(block.steps, 100, 1e-9);
    EXPECT_NEAR(block.samples, 1000, 1e-9);
    EXPECT_NEAR(block.seconds(), 1, 1e-9);
    EXPECT_NEAR(block.part(StepPart::kCompute), 0.5, 1e-9);
  }
}

// Whatever the length, no step is lost, and blocks have about the same time.
TEST(StepSeries, IsBoundedForAnyLength) {
  for (const int seconds : {1, 63, 64, 65, 127, 128, 1000, 100'000}) {
    StepSeries series;
    for (int second = 1; second <= seconds; ++second) series.take(sums(100 * second, 0.01), 1);
    const std::vector<StepBlock> blocks = series.blocks();
    EXPECT_LE(blocks.size(), StepSeries::kMostBlocks);
    EXPECT_GE(blocks.size(), std::min<std::size_t>(static_cast<std::size_t>(seconds), 31));
    const StepBlock sum = sum_of(blocks);
    EXPECT_NEAR(sum.steps, 100.0 * seconds, 1e-6 * seconds);
    EXPECT_NEAR(sum.seconds(), seconds, 1e-6 * seconds);
    for (const StepBlock& block : blocks) {
      EXPECT_GE(block.seconds(), 0.49 * blocks.front().seconds()) << seconds;
      EXPECT_LE(block.seconds(), 1.51 * blocks.front().seconds()) << seconds;
    }
  }
}

TEST(StepSeries, AStepMayTakeLongerThanABlock) {
  StepSeries series;
  for (int second = 1; second <= 700; ++second) series.take(sums(second / 7, 7), 1);
  const std::vector<StepBlock> blocks = series.blocks();
  EXPECT_LE(blocks.size(), StepSeries::kMostBlocks);
  EXPECT_GE(blocks.size(), 32u);
  for (const StepBlock& block : blocks) {
    EXPECT_GE(block.steps, 1);
    EXPECT_NEAR(block.seconds() / block.steps, 7, 1e-9);
  }
}

// Ranks are read one after another, also between the steps of two.
TEST(StepSeries, LongStepsOfManyRanksAreWhole) {
  constexpr int kRanks = 4;
  StepSeries series;
  for (int second = 1; second <= 60; ++second) {
    for (int rank = 0; rank < kRanks; ++rank) {
      StepBlock all;
      int with_steps = 0;
      for (int one = 0; one < kRanks; ++one) {
        // Rank 0 ends its steps a second before the others.
        const int read_at = (one <= rank ? second : second - 1) + (one == 0 ? 1 : 0);
        all += sums(read_at / 3, 3);
        with_steps += read_at >= 3 ? 1 : 0;
      }
      series.take(all, with_steps);
    }
  }
  const std::vector<StepBlock> blocks = series.blocks();
  EXPECT_EQ(blocks.size(), 20u);
  for (const StepBlock& block : blocks) {
    EXPECT_GE(block.steps, 1);
    EXPECT_NEAR(block.seconds() / block.steps, 3, 1e-9);
  }
}

TEST(StepSeries, BlocksAreMeansOverRanks) {
  StepSeries series;
  StepBlock all;
  for (int second = 1; second <= 3; ++second) {
    for (int rank = 0; rank < 4; ++rank) {
      all += sums(100, 0.01);
      series.take(all, second == 1 ? rank + 1 : 4);
    }
  }
  const StepBlock sum = sum_of(series.blocks());
  EXPECT_NEAR(sum.steps, 300, 1e-9);
  EXPECT_NEAR(sum.seconds(), 3, 1e-9);
  EXPECT_NEAR(sum.samples, 4 * 3000, 1e-9);
}

TEST(StepSeries, AShortRestBelongsToTheLastBlock) {
  StepSeries series;
  series.take(sums(100, 0.01), 1);
  series.take(sums(140, 0.01), 1);
  ASSERT_EQ(series.blocks().size(), 1u);
  EXPECT_NEAR(series.blocks()[0].steps, 140, 1e-9);
  series.take(sums(170, 0.01), 1);
  EXPECT_EQ(series.blocks().size(), 2u);
}

TEST(StepSeries, AnotherProgramOfTheRankBeginsAnew) {
  StepSeries series;
  for (int second = 1; second <= 5; ++second) series.take(sums(100 * second, 0.01), 1);
  series.take(sums(10, 0.1), 1);
  EXPECT_TRUE(series.blocks().empty());
  series.take(sums(20, 0.1), 1);
  ASSERT_EQ(series.blocks().size(), 1u);
  EXPECT_NEAR(series.blocks()[0].steps, 10, 1e-9);
}

TEST(StepSeries, ABlockHasTheTotalsOfARank) {
  StepTotals totals{.steps = 3, .samples = 30};
  totals.parts = {std::chrono::milliseconds(1500), std::chrono::milliseconds(250), {}, {}};
  EXPECT_EQ(block_of(totals), (StepBlock{.steps = 3, .samples = 30, .parts = {1.5, 0.25, 0, 0}}));
}

}  // namespace
}  // namespace paceline
