#include "launcher/tools/measure/bench/gradient/gradient_report.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

// 6 us of wire of two ranks, ready at 4 + 8 us: see timeline_test.cc.
const probe::Trace kTrace{.name = "three",
                          .model = "three tensors",
                          .tensors = {{.name = "a", .count = 100, .flops = 1},
                                      {.name = "b", .count = 200, .flops = 1},
                                      {.name = "c", .count = 300, .flops = 2}}};

GradientTitle title() {
  return {.trace = kTrace,
          .orders = {.trace = "three", .compute_us = 12},
          .ranks = 2,
          .wire = {.bytes_per_s = 400e6, .latency_us = 0.5},
          .wires = {3, {.bytes_per_s = 400e6, .latency_us = 0.5}}};
}

GradientSeries series_of(const std::string& name, const std::vector<double>& exposed_us) {
  GradientSeries series{.name = name, .codec = "none", .job = {.error = 0}};
  for (const double us : exposed_us)
    series.job.turns.push_back(
        {{.step_us = 12 + us, .compute_us = 12, .exposed_us = us, .cpu_us = 1, .sent_bytes = 2e6}});
  return series;
}

TEST(GradientReport, RatiosAreTurnByTurn) {
  const GradientSeries ours = series_of("paceline", {2, 4, 4}),
                       theirs = series_of("ddp", {6, 8, 4});
  const GradientRatio ratio = compare(theirs, ours);
  EXPECT_EQ(ratio.exposed, (Spread{.median = 2, .tenth = 1}));
  EXPECT_EQ(ratio.step, (Spread{.median = 20.0 / 16, .tenth = 1}));
}

TEST(GradientReport, ATurnIsTheMedianOfItsSteps) {
  GradientSeries ours = series_of("paceline", {4});
  for (const double us : {1, 3, 2, 9}) ours.job.turns[0].push_back({.exposed_us = us});
  ASSERT_EQ(ours.medians().size(), 1u);
  EXPECT_EQ(ours.medians()[0].exposed_us, 3);
}

TEST(GradientReport, WhatIsExposedIsHeldAgainstTheBoundOfTheWireAtItsBest) {
  const GradientSeries series = series_of("paceline", {2, 4});
  const OfBound of = of_bound(title(), series);
  EXPECT_EQ(of.bytes, (Spread{.median = 0.5, .tenth = 0.5}));
  EXPECT_EQ(of.with_latency, (Spread{.median = 0.625, .tenth = 0.625}));
  EXPECT_EQ(of.in_turn, of.with_latency);
}

TEST(GradientReport, ASlowTurnOfTheWireCountsOnlyWhereItIsSaidTo) {
  const GradientSeries series = series_of("paceline", {4, 4, 8});
  GradientTitle slower = title();
  slower.wires[2] = {.bytes_per_s = 200e6};  // from 8 us on it takes 12 of them
  const OfBound of = of_bound(slower, series);
  EXPECT_EQ(of.bytes, (Spread{.median = 0.5, .tenth = 0.25}));
  EXPECT_EQ(of.in_turn, (Spread{.median = 0.625, .tenth = 0.625}));
}

TEST(GradientReport, AnErrorThatNobodyLookedForIsTheLargest) {
  GradientSeries series = series_of("paceline", {1});
  series.job.error = 1e-3;
  EXPECT_EQ(series.error(), 1e-3);
  series.job.error = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(series.error()));
  series.job.error.reset();
  EXPECT_GT(series.error(), 1e300);
}

TEST(GradientReport, TheTableHasALineForEachContender) {
  const std::vector<GradientSeries> series{series_of("paceline", {4}), series_of("ddp", {8})};
  EXPECT_EQ(
      gradient_table(title(), series),
      "# gradient, three tensors: 3 tensors, 0.0 MB. 2 ranks. Compute: sleep, 0.0 ms\n"
      "# wire: 0.0 ms at 400.0 MB/s, compute is 2.00 times that. In turn with the contenders: "
      "400.0 MB/s (10th perc. 400.0). A short operation: 0.5 us\n"
      "# bound of exposed: 0.00 ms by bytes, 0.00 ms with the latency of one operation\n"
      " contender       step    compute    exposed      sent       cpu   own cpu  of bound    10th"
      "       step    10th    exposed    10th\n"
      "                 (ms)       (ms)       (ms)      (MB)      (ms)      (ms)       (%)   perc."
      "     x ours   perc.     x ours   perc.\n"
      "  paceline       0.02       0.01       0.00      2.00      0.00         -      50.0    "
      "50.0\n"
      "       ddp       0.02       0.01       0.01      2.00      0.00         -      25.0    25.0"
      "      1.250   1.250      2.000   2.000\n");
}

TEST(GradientReport, JsonHasTheFiguresAndTheRatios) {
  const std::vector<GradientSeries> series{series_of("paceline", {4}), series_of("ddp", {8})};
  const std::vector<std::string> lines = gradient_json(title(), series);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0],
            R"({"op":"gradient","trace":"three","scale":1.0,"tensors":3,"bytes":2400,"ranks":2,)"
            R"("compute":"sleep","contender":"paceline","codec":"none","pairs":1,)"
            R"("step_us":16.0,"compute_us":12.0,"exposed_us":4.0,"cpu_us":1.0,)"
            R"("own_cpu_us":0.0,"sent_bytes":2000000.0,"replayed_us":12.0,"wire_us":6.0,)"
            R"("bytes_per_s":400000000.0,"bytes_per_s_in_turn":400000000.0,"latency_us":0.5,)"
            R"("bound_us":2.0,"bound_with_latency_us":2.5,)"
            R"("of_bound_median":0.5,"of_bound_p10":0.5,)"
            R"("of_bound_with_latency_median":0.625,"of_bound_with_latency_p10":0.625,)"
            R"("of_bound_in_turn_median":0.625,"of_bound_in_turn_p10":0.625,)"
            R"("error":0.0})");
  EXPECT_EQ(lines[2],
            R"({"op":"gradient","trace":"three","scale":1.0,"tensors":3,"bytes":2400,"ranks":2,)"
            R"("compute":"sleep","contender":"paceline","codec":"none","pairs":1,"against":"ddp",)"
            R"("step_ratio_median":1.25,"step_ratio_p10":1.25,)"
            R"("exposed_ratio_median":2.0,"exposed_ratio_p10":2.0})");
}

}  // namespace
}  // namespace paceline::launcher
