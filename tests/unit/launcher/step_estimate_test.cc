#include "launcher/tools/report/step_estimate.h"

#include <cmath>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "launcher/tools/report/change_point.h"
#include "tests/unit/launcher/noisy_run.h"

namespace paceline::launcher {
namespace {

std::vector<StepBlock> warm_blocks_of(const NoisyRun& run) {
  std::vector<StepBlock> blocks = run.entry("a").figures->blocks;
  blocks.erase(blocks.begin());
  return blocks;
}

// Tables of Student's t.
TEST(StepEstimate, StudentsT) {
  EXPECT_NEAR(student_t(0.05, 1), 12.706, 0.001);
  EXPECT_NEAR(student_t(0.05, 10), 2.2281, 0.0001);
  EXPECT_NEAR(student_t(0.001, 14), 4.1405, 0.0001);
  EXPECT_NEAR(student_t(0.01, 1e6), 2.5758, 0.0001);
  EXPECT_NEAR(student_chance(2, 5), 0.10194, 0.00001);
  EXPECT_NEAR(student_chance(-2, 5), 0.10194, 0.00001);
  EXPECT_EQ(student_chance(0, 5), 1);
}

TEST(StepEstimate, MeansAreOfAllSteps) {
  const std::vector<StepBlock> blocks{{.steps = 1, .samples = 10, .parts = {3, 0, 1, 0}},
                                      {.steps = 3, .samples = 30, .parts = {3, 0, 1, 0}}};
  EXPECT_DOUBLE_EQ(step_mean(blocks, Quantity::kStep), 2);
  EXPECT_DOUBLE_EQ(step_mean(blocks, Quantity::kRate), 5);
  EXPECT_DOUBLE_EQ(step_mean(blocks, Quantity::kCompute), 1.5);
  EXPECT_DOUBLE_EQ(step_mean(blocks, Quantity::kInput), 0.5);
  EXPECT_DOUBLE_EQ(step_mean({}, Quantity::kStep), 0);
}

TEST(StepEstimate, EqualBlocksHaveNoError) {
  const std::vector<StepBlock> blocks(20, {.steps = 100, .samples = 100, .parts = {1, 0, 0, 0}});
  const StepEstimate estimate = step_estimate(blocks, Quantity::kStep);
  EXPECT_DOUBLE_EQ(estimate.mean, 0.01);
  EXPECT_NEAR(estimate.error, 0, 1e-15);
  EXPECT_NEAR(estimate.drift, 0, 1e-15);
}

// The errors that are estimated, on average of many runs, are those that the means have.
TEST(StepEstimate, TheErrorIsThatOfTheMean) {
  for (const double correlation : {0.0, 0.3, 0.6}) {
    for (const std::size_t blocks : {16u, 32u, 62u}) {
      double squares = 0, estimated = 0;
      constexpr int kRuns = 400;
      for (int i = 0; i < kRuns; ++i) {
        const auto run = warm_blocks_of(
            {.seed = static_cast<std::uint64_t>(i), .blocks = blocks, .correlation = correlation});
        const StepEstimate one = step_estimate(run, Quantity::kStep);
        squares += (one.mean - 0.01) * (one.mean - 0.01);
        estimated += one.error;
      }
      const double ratio = estimated / kRuns / std::sqrt(squares / kRuns);
      EXPECT_GT(ratio, 0.8) << correlation << " " << blocks;
      EXPECT_LT(ratio, 1.5) << correlation << " " << blocks;
    }
  }
}

TEST(StepEstimate, DriftIsTheDifferenceOfTheHalves) {
  const auto blocks = warm_blocks_of({.noise = 0, .growth = 0.5});
  const StepEstimate estimate = step_estimate(blocks, Quantity::kCompute);
  EXPECT_NEAR(estimate.drift, 0.008 * 0.25, 0.0001);
}

TEST(ChangePoint, IsFoundWhereItIs) {
  std::vector<StepBlock> blocks = warm_blocks_of({.blocks = 40, .noise = 0.02});
  EXPECT_FALSE(change_point(blocks));
  for (std::size_t i = 25; i < blocks.size(); ++i) blocks[i].parts[1] += 0.1;
  const auto change = change_point(blocks);
  ASSERT_TRUE(change);
  EXPECT_NEAR(change->at_s, 25, 1.5);
  EXPECT_NEAR(change->after_s / change->before_s, 1.1, 0.02);
  EXPECT_NEAR(change->lost_s, 1.5, 0.3);
  EXPECT_EQ(change->part, StepPart::kCommunication);
}

TEST(ChangePoint, FewBlocksSayNothing) {
  EXPECT_FALSE(change_point({}));
  std::vector<StepBlock> blocks = warm_blocks_of({.blocks = 15, .noise = 0.001});
  for (std::size_t i = 8; i < blocks.size(); ++i) blocks[i].parts[1] += 0.5;
  EXPECT_FALSE(change_point(blocks));
}

}  // namespace
}  // namespace paceline::launcher
