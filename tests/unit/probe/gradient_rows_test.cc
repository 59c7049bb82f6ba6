#include "launcher/tools/measure/probe/gradient/gradient_rows.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::probe {
namespace {

constexpr StepRow kRow{.step_us = 100,
                       .compute_us = 60,
                       .exposed_us = 40,
                       .cpu_us = 7.5,
                       .own_cpu_us = 0.25,
                       .sent_bytes = 1e6};

TEST(GradientRows, LinesComeBack) {
  const SiteRow site{.wire = {.bytes_per_s = 119'500'000, .latency_us = 95.5}, .burn_per_us = 800};
  const std::vector<WireRate> wires{{.bytes_per_s = 1e9, .latency_us = 20},
                                    {.bytes_per_s = 2e9, .latency_us = 10}};
  GradientJob job;
  take_line(to_line(site), job);
  for (const WireRate& wire : wires) take_line(to_line(wire), job);
  for (const GradientTurn& turn : {GradientTurn{kRow, kRow}, GradientTurn{}, GradientTurn{kRow}}) {
    take_line(kAliveLine, job);
    take_line(kTurnLine, job);
    for (const StepRow& row : turn) take_line(to_line(row), job);
    take_line(kPassedLine, job);
  }
  take_line(verified_line(1e-9), job);
  EXPECT_EQ(job,
            (GradientJob{
                .site = site, .wires = wires, .turns = {{kRow, kRow}, {}, {kRow}}, .error = 1e-9}));
}

TEST(GradientRows, OtherLinesArePassedOver) {
  GradientJob job;
  for (const char* line :
       {"", "alive", "turn 1", "step", "step 1 2 3 4 5", "step 1 2 3 4 5 x", "step 1 2 3 4 5 6",
        "measured 1 2", "wire 1", "wire 1 2 3", "verified", "verified x", "a trainer's own line"})
    take_line(line, job);
  EXPECT_EQ(job, GradientJob());
}

TEST(GradientRows, TheMedianIsOfEachColumn) {
  GradientTurn turn;
  for (const double factor : {3.0, 1.0, 2.0})
    turn.push_back({.step_us = 100 * factor, .exposed_us = 100 / factor});
  EXPECT_EQ(median_of(turn), (StepRow{.step_us = 200, .exposed_us = 50}));
  EXPECT_EQ(median_of({}), StepRow());
}

}  // namespace
}  // namespace paceline::probe
