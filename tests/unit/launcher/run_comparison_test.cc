#include "launcher/tools/report/run_comparison.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/launcher/noisy_run.h"

namespace paceline::launcher {
namespace {

std::vector<std::string> named(const RunComparison& comparison) {
  std::vector<std::string> names;
  for (const ComparedQuantity& one : comparison.quantities)
    if (one.judgement == Judgement::kNamed) names.emplace_back(name(one.quantity));
  return names;
}

// A noise of 2 % of a block, with a correlation of 0.3, in 32 blocks.
TEST(RunComparison, EqualRunsHaveNoDifference) {
  int with_names = 0;
  for (std::uint64_t seed = 0; seed < 1000; seed += 2) {
    const RunEntry first = NoisyRun{.seed = seed}.entry("a");
    const RunEntry second = NoisyRun{.seed = seed + 1}.entry("b");
    with_names += named(compare_runs(first, second)).empty() ? 0 : 1;
  }
  EXPECT_LE(with_names, 3);  // of 500
}

TEST(RunComparison, ADifferenceOfFivePercentIsNamed) {
  int with_names = 0;
  for (std::uint64_t seed = 0; seed < 1000; seed += 2) {
    const RunEntry first = NoisyRun{.seed = seed}.entry("a");
    const RunEntry second = NoisyRun{.seed = seed + 1, .compute_s = 0.0085}.entry("b");
    const auto names = named(compare_runs(first, second));
    with_names += std::ranges::find(names, "step time") != names.end() ? 1 : 0;
  }
  EXPECT_GE(with_names, 475);  // of 500
}

TEST(RunComparison, SaysWhichPartDiffers) {
  const RunEntry first = NoisyRun{.seed = 1, .noise = 0.005}.entry("a");
  const RunEntry second = NoisyRun{.seed = 2, .noise = 0.005, .compute_s = 0.01}.entry("b");
  const RunComparison comparison = compare_runs(first, second);
  EXPECT_EQ(named(comparison), (std::vector<std::string>{"step time", "samples/s", "compute"}));
  const ComparedQuantity& step = comparison.quantities[0];
  EXPECT_NEAR(step.change, 0.2, 0.01);
  EXPECT_NE(difference_words(step).find("Steps of the second run are 20 % slower: 12 ms"),
            std::string::npos)
      << difference_words(step);
  EXPECT_NE(difference_words(comparison.quantities[2]).find("compute takes 2"), std::string::npos);
  // "other" is 0 in both.
  EXPECT_EQ(comparison.quantities.size(), 5u);
  const RunComparison reversed = compare_runs(second, first);
  EXPECT_NE(difference_words(reversed.quantities[0]).find("17 % faster"), std::string::npos);
}

TEST(RunComparison, SmallDifferencesDoNotMatter) {
  const RunEntry first = NoisyRun{.seed = 1, .noise = 1e-4}.entry("a");
  const RunEntry second = NoisyRun{.seed = 2, .noise = 1e-4, .compute_s = 0.00805}.entry("b");
  const RunComparison comparison = compare_runs(first, second);
  EXPECT_EQ(comparison.quantities[0].judgement, Judgement::kSmall);
  EXPECT_TRUE(named(comparison).empty());
  EXPECT_EQ(no_difference_words(comparison), "Differences are beyond noise, but below 1 %");
  EXPECT_EQ(no_difference_words(compare_runs(first, first)),
            "No difference is beyond noise. A step time that differs by 1 % or more would be");
  EXPECT_EQ(no_difference_words({}), "No difference is beyond noise");
}

TEST(RunComparison, RunsThatDriftCannotTell) {
  RunEntry first = NoisyRun{.seed = 1, .noise = 0.002}.entry("a");
  RunEntry second = first;
  for (std::size_t i = 0; i < second.figures->blocks.size(); ++i) {
    second.figures->blocks[i].parts[0] *= 1.03;
    const double drift = i % 2 == 0 ? 1.0 : 1.0005;
    first.figures->blocks[i].parts[0] *= drift;
  }
  EXPECT_EQ(compare_runs(first, second).quantities[0].judgement, Judgement::kNamed);
  for (RunEntry* run : {&first, &second})
    for (std::size_t i = 17; i < run->figures->blocks.size(); ++i)
      run->figures->blocks[i].parts[0] *= 1.1;
  const RunComparison comparison = compare_runs(first, second);
  EXPECT_NE(comparison.quantities[0].judgement, Judgement::kNamed);
  EXPECT_TRUE(named(comparison).empty());
}

TEST(RunComparison, ADriftIsSaid) {
  ComparedQuantity one{.quantity = Quantity::kStep,
                       .first = {},
                       .second = {},
                       .change = 0.05,
                       .drift = 0.12,
                       .judgement = Judgement::kDrifted};
  EXPECT_EQ(difference_words(one),
            "The runs cannot tell whether their step time differs: between them it changes by 5 %, "
            "but between the halves of one run by 12 %");
}

TEST(RunComparison, ShortRunsSayNothing) {
  const RunEntry first = NoisyRun{}.entry("a");
  const RunComparison comparison = compare_runs(first, NoisyRun{.blocks = 4}.entry("b"));
  EXPECT_TRUE(comparison.quantities.empty());
  EXPECT_NE(no_difference_words(comparison).find("run b has 5 blocks of steps, but 9 or more"),
            std::string::npos);
  EXPECT_TRUE(compare_runs(first, NoisyRun{.blocks = 8}.entry("b")).obstacle.empty());
}

TEST(RunComparison, SamplesAreComparedIfBothRunsMarkThem) {
  const RunEntry first = NoisyRun{}.entry("a");
  RunEntry second = first;
  for (StepBlock& block : second.figures->blocks) block.samples = 0;
  for (const ComparedQuantity& one : compare_runs(first, second).quantities)
    EXPECT_NE(one.quantity, Quantity::kRate);
}

TEST(RunComparison, OtherFactsThatDifferAreNamed) {
  const RunEntry first = NoisyRun{}.entry("a");
  RunEntry second = first;
  EXPECT_TRUE(compare_runs(first, second).other_facts.empty());
  EXPECT_EQ(other_facts_words(compare_runs(first, second)), "");
  second.ranks = 4;
  second.command = "./other";
  EXPECT_EQ(compare_runs(first, second).other_facts,
            (std::vector<std::string>{"ranks", "command"}));
  EXPECT_EQ(other_facts_words(compare_runs(first, second)),
            "The runs also differ in: ranks, command.");
}

}  // namespace
}  // namespace paceline::launcher
