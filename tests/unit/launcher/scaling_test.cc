#include "launcher/tools/measure/scale/scaling.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "launcher/tools/measure/scale/scale_options.h"
#include "launcher/tools/measure/scale/scale_report.h"

namespace paceline::launcher {
namespace {

// A step of which `serial` and `shared` seconds are computation, the latter shared by all ranks,
// and `round` seconds for each doubling of the ranks move data.
RunFigures run_of(int ranks, double serial, double shared, double round, double noise = 1) {
  const double compute = noise * (serial + shared / ranks);
  const double moving = noise * round * std::log2(ranks);
  const double step = compute + moving;
  RunFigures run{.has_steps = true, .steps = 100, .step_seconds = step};
  run.samples_per_s = 64 / step;
  run.shares = {{"compute", compute / step}, {"moving data", moving / step}};
  return run;
}

std::vector<SizeRuns> strong_runs() {
  std::vector<SizeRuns> runs;
  for (const int ranks : {4, 1, 2})
    runs.push_back(
        {.ranks = ranks, .rounds = {run_of(ranks, 0.1, 1, 0.05), run_of(ranks, 0.1, 1, 0.05)}});
  return runs;
}

TEST(Scaling, EfficiencyIsRelativeToTheSmallestSize) {
  const ScalingResult result = scaling_of(strong_runs(), {});
  EXPECT_EQ(result.scaling, Scaling::kStrong);
  ASSERT_EQ(result.sizes.size(), 3u);
  EXPECT_EQ(result.sizes[0].ranks, 1);
  EXPECT_DOUBLE_EQ(result.sizes[0].efficiency.mean, 1);
  EXPECT_NEAR(result.sizes[2].efficiency.mean, 1.1 / 4 / (0.35 + 0.1), 1e-9);
  EXPECT_NEAR(result.sizes[2].efficiency.half, 0, 1e-9);
  EXPECT_NEAR(result.sizes[2].parts[static_cast<std::size_t>(Spent::kMoving)], 0.1, 1e-9);
}

// A run of one second a step whose first block is slower.
RunFigures warming_up(int blocks) {
  RunFigures run{.has_steps = true, .steps = 10, .step_seconds = 1.5, .samples_per_s = 40};
  for (int i = 0; i < blocks; ++i)
    run.blocks.push_back({.steps = 2, .samples = 128, .parts = {i == 0 ? 4.0 : 2.0}});
  return run;
}

TEST(Scaling, TheWarmUpIsLeftOutOfLongEnoughRuns) {
  const auto result_of = [](int blocks) {
    return scaling_of({{.ranks = 1, .rounds = {warming_up(blocks)}}}, Scaling::kStrong).sizes[0];
  };
  EXPECT_DOUBLE_EQ(result_of(3).step_seconds, 1);
  EXPECT_DOUBLE_EQ(result_of(3).rate.mean, 64);
  EXPECT_DOUBLE_EQ(result_of(2).step_seconds, 1.5);
  EXPECT_DOUBLE_EQ(result_of(2).rate.mean, 40);
}

TEST(Scaling, TheForecastFollowsTheLaw) {
  const Forecast forecast = scaling_of(strong_runs(), {}).forecast.value();
  EXPECT_EQ(forecast.ranks, 8);
  EXPECT_NEAR(forecast.step_seconds, 0.1 + 1.0 / 8 + 0.15, 1e-9);
  EXPECT_NEAR(forecast.efficiency, 1.1 / 8 / 0.375, 1e-9);
  EXPECT_EQ(forecast.eater, Spent::kMoving);
}

// Computation differs between ranks by a share that rises with their number.
TEST(Scaling, WaitsFollowTheWork) {
  std::vector<SizeRuns> runs;
  for (const int ranks : {1, 2, 4}) {
    const double compute = 1.0 / ranks, waiting = 0.1 * std::log2(ranks) * compute;
    RunFigures run{.has_steps = true, .steps = 100, .step_seconds = compute + waiting};
    run.samples_per_s = 64 / run.step_seconds;
    run.shares = {{"compute", compute / run.step_seconds}, {"waiting", waiting / run.step_seconds}};
    runs.push_back({.ranks = ranks, .rounds = {run}});
  }
  const Forecast forecast = scaling_of(runs, {}).forecast.value();
  EXPECT_NEAR(forecast.parts[static_cast<std::size_t>(Spent::kWaiting)], 0.3 / 8, 1e-9);
}

// A rank moves (n - 1) / n of the data of a long operation, and short ones take a round each time
// that the ranks double.
TEST(Scaling, LongOperationsFollowTheirData) {
  for (const std::uint64_t bytes : {std::uint64_t{1} << 20, std::uint64_t{1} << 10}) {
    std::vector<SizeRuns> runs;
    for (const int ranks : {1, 2, 4}) {
      const double moving = 0.2 * (ranks - 1) / ranks, compute = 1.0 / ranks;
      RunFigures run{.has_steps = true, .steps = 100, .step_seconds = compute + moving};
      run.samples_per_s = 64 / run.step_seconds;
      run.shares = {{"compute", compute / run.step_seconds},
                    {"moving data", moving / run.step_seconds}};
      run.operations = {
          {.ranks = ranks, .count = 100, .bytes = 100 * bytes, .exposed_seconds = moving},
          {.ranks = ranks, .count = 900, .bytes = 900, .exposed_seconds = moving / 10}};
      runs.push_back({.ranks = ranks, .rounds = {run}});
    }
    const Forecast forecast = scaling_of(runs, {}).forecast.value();
    const double moving = forecast.parts[static_cast<std::size_t>(Spent::kMoving)];
    EXPECT_NEAR(moving, bytes > 1 << 16 ? 0.2 * 7 / 8 : 0.2, 1e-9);
  }
}

TEST(Scaling, WeakScalingIsSeenByTheSamples) {
  std::vector<SizeRuns> runs;
  for (const int ranks : {1, 2, 4}) {
    RunFigures run = run_of(ranks, 1, 0, 0.1);
    run.samples_per_s *= ranks;
    runs.push_back({.ranks = ranks, .rounds = {run}});
  }
  const ScalingResult result = scaling_of(runs, {});
  EXPECT_EQ(result.scaling, Scaling::kWeak);
  EXPECT_NEAR(result.sizes[2].efficiency.mean, 1 / 1.2, 1e-9);
  EXPECT_NEAR(result.forecast->efficiency, 1 / 1.3, 1e-9);
  EXPECT_EQ(scaling_of(runs, Scaling::kStrong).scaling, Scaling::kStrong);
}

TEST(Scaling, WithoutSamplesStepsCount) {
  std::vector<SizeRuns> runs = strong_runs();
  for (SizeRuns& size : runs)
    for (RunFigures& run : size.rounds) run.samples_per_s = 0;
  const ScalingResult result = scaling_of(runs, {});
  EXPECT_FALSE(result.has_samples);
  EXPECT_NEAR(result.sizes[2].efficiency.mean, 1.1 / 4 / 0.45, 1e-9);
  EXPECT_NEAR(scaling_of(runs, Scaling::kWeak).sizes[2].efficiency.mean, 1.1 / 0.45, 1e-9);
}

TEST(Scaling, RoundsThatDifferMakeAnInterval) {
  std::vector<SizeRuns> runs;
  for (const int ranks : {1, 2})
    runs.push_back({.ranks = ranks,
                    .rounds = {run_of(ranks, 1, 0, 0.1), run_of(ranks, 1, 0, 0.1, ranks),
                               run_of(ranks, 1, 0, 0.1)}});
  const ScalingResult result = scaling_of(runs, {});
  EXPECT_FALSE(result.forecast);
  EXPECT_GT(result.sizes[1].efficiency.half, 0.1);
}

TEST(ScaleReport, ShowsSizesAndForecast) {
  const ScalingResult result = scaling_of(strong_runs(), {});
  const std::string table = scale_table(result);
  EXPECT_NE(table.find("RANKS  SAMPLES/S  EFFICIENCY  STEP"), std::string::npos) << table;
  EXPECT_NE(table.find("strong scaling; forecast: 8 ranks reach 37 %, and the loss that grows most "
                       "is moving data (40 % of a step)"),
            std::string::npos)
      << table;
  const std::string json = scale_json(result, "./train \xff");
  EXPECT_NE(json.find("\"growing_loss\": \"moving data\""), std::string::npos) << json;
  const std::string plot = scale_plot(result, "./train <a&b>");
  EXPECT_NE(plot.find("./train &lt;a&amp;b&gt;"), std::string::npos);
  EXPECT_NE(plot.find("8 (forecast)"), std::string::npos);
  EXPECT_EQ(plot.find("nan"), std::string::npos);
}

std::string refusal(std::vector<std::string> words) {
  const auto request = parse_scale(words);
  return request.ok() ? "" : request.status().text();
}

TEST(ScaleOptions, SizesAndTheProgramAreNeeded) {
  const auto request = parse_scale(std::vector<std::string>{
      "-n", "4,1,2", "--rounds", "5", "--weak", "-x", "A=1", "--", "./train", "-n", "7"});
  ASSERT_TRUE(request.ok()) << request.status().text();
  EXPECT_EQ(request->sizes, (std::vector<int>{1, 2, 4}));
  EXPECT_EQ(request->rounds, 5);
  EXPECT_EQ(request->scaling, Scaling::kWeak);
  EXPECT_EQ(request->job.programs.front().command,
            (std::vector<std::string>{"./train", "-n", "7"}));
  EXPECT_EQ(request->job.programs.front().environment.size(), 1u);
  EXPECT_NE(refusal({"-n", "1,2", "./train"}).find("write it after --"), std::string::npos);
  EXPECT_NE(refusal({"-n", "1,2", "--"}).find("write it after --"), std::string::npos);
  EXPECT_NE(refusal({"--", "./train"}).find("-n is missing"), std::string::npos);
  EXPECT_NE(refusal({"-n", "1,x", "--", "t"}).find("'1,x' is not a list"), std::string::npos);
  EXPECT_NE(refusal({"-n", "2,2", "--", "t"}).find("has a number twice"), std::string::npos);
  EXPECT_NE(refusal({"-n", "2", "--rounds", "0", "--", "t"}).find("from 1 to 99"),
            std::string::npos);
  EXPECT_NE(refusal({"-n", "2", "--", "t", ":", "u"}).find("one program"), std::string::npos);
  EXPECT_NE(refusal({"-n", "2", "-np", "3", "--", "t"}).find("-np is not allowed"),
            std::string::npos);
  EXPECT_NE(refusal({"-n", "2", "--wek", "--", "t"}).find("--wek"), std::string::npos);
}

}  // namespace
}  // namespace paceline::launcher
