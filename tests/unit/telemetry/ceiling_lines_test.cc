#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "telemetry/job/closing_lines.h"

namespace paceline {
namespace {

JobSummary ablated_summary() {
  return {.ranks = 2,
          .job_ranks = 2,
          .has_steps = true,
          .steps = 10,
          .seconds = 0.021,
          .samples_per_s = 6000,
          .shares = {0.97, 0, 0, 0.03, 0}};
}

TEST(CeilingLines, AreOfTheRunThatIsNotAblated) {
  const WholeRun whole{.step_seconds = 0.00273, .when = "2026-11-29 15:12"};
  EXPECT_EQ(ceiling_lines(ablated_summary(), {.communication = true}, whole),
            (std::vector<std::string>{
                "10 steps of 2.10 ms on 2 ranks, 6000 samples/s",
                "time in steps: compute 97 %; lost to: input 3 %",
                "without communication: 2.10 ms a step, 1.30 times as fast as the run of "
                "2026-11-29 15:12 (2.73 ms)",
                "the results of this run are wrong on purpose (--ablate comm)"}));
  const auto alone = ceiling_lines(ablated_summary(), {.communication = true}, {});
  EXPECT_EQ(alone[2],
            "without communication: 2.10 ms a step; run the same command without --ablate to see "
            "how much faster this is");
}

TEST(CeilingLines, SayWhatWasNotLeftOut) {
  JobSummary summary = ablated_summary();
  const Ablation both{.communication = true, .input = true};
  const std::string not_repeated =
      "input was not repeated, because no rank asked for it after a step (input_is_repeated() in "
      "paceline/steps.h)";
  const auto unasked = ceiling_lines(summary, {.input = true}, {});
  ASSERT_EQ(unasked.size(), 3u);
  EXPECT_EQ(unasked[2], not_repeated);
  EXPECT_EQ(ceiling_lines(summary, both, {})[2], not_repeated);
  EXPECT_TRUE(ceiling_lines(summary, both, {})[3].starts_with("without communication: 2.10 ms"));
  summary.repeats_input = true;
  const auto asked = ceiling_lines(summary, both, {});
  EXPECT_TRUE(asked[2].starts_with("without communication and with repeated input: 2.10 ms"));
  EXPECT_EQ(asked[3], "the results of this run are wrong on purpose (--ablate comm,input)");
  summary.has_steps = false;
  EXPECT_EQ(ceiling_lines(summary, both, {})[0],
            "mark steps to see the ceiling (paceline/steps.h)");
  EXPECT_EQ(ceiling_lines({}, both, {}),
            std::vector<std::string>{
                "--ablate comm,input left nothing out, because no rank used the library"});
}

}  // namespace
}  // namespace paceline
