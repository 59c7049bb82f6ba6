// Scenarios over the simulated network: they replay, and faults come when and where they should.

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/sim/judge.h"
#include "tests/sim/scenario_text.h"
#include "tests/sim/simulated_run.h"

namespace paceline::testing {
namespace {

using namespace std::chrono_literals;

// All that a judge looks at.
std::string text_of(const Outcome& outcome) {
  std::string text = std::to_string(outcome.steps);
  for (const RankOutcome& rank : outcome.ranks) {
    for (const CallOutcome& call : rank.calls) {
      text += "\n" + std::to_string(call.begun) + " " + std::to_string(call.ended) + " " +
              std::to_string(call.ended_at.time_since_epoch().count()) + " " +
              call.status.to_string() + call.wrong;
    }
  }
  return text;
}

TEST(SimulatedRun, TheSameScenarioHasTheSameOutcome) {
  RankThreads threads;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Scenario scenario = generate(seed, {});
    Random random(seed);
    place_faults(scenario, run_simulated(scenario, threads).steps, random);
    const std::string first = text_of(run_simulated(scenario, threads));
    EXPECT_EQ(first, text_of(run_simulated(*parse_scenario(to_text(scenario)), threads)));
  }
}

// A fault beyond the last step changes nothing; until its step the schedule is the one without it.
TEST(SimulatedRun, AFaultDisturbsNothingBeforeItsStep) {
  RankThreads threads;
  Scenario scenario = generate(3, {.min_ranks = 4});
  const Outcome undisturbed = run_simulated(scenario, threads);
  scenario.faults = {{.ranks = {1}, .step = undisturbed.steps + 1}};
  const Outcome later = run_simulated(scenario, threads);
  EXPECT_TRUE(later.lost.empty());
  EXPECT_EQ(text_of(undisturbed), text_of(later));
  scenario.faults[0].step = 0;
  const Outcome at_once = run_simulated(scenario, threads);
  EXPECT_EQ(at_once.lost, std::vector<int>{1});
  EXPECT_EQ(judge_schedule(scenario, at_once), "");
}

// A process that is stopped for less than the timeout delays the others, and nothing fails. The
// same holds for messages that take longer for a while.
TEST(SimulatedRun, RanksThatAreStoppedOrSlowDelayTheOthers) {
  RankThreads threads;
  Scenario scenario{.ranks = 3, .calls = {{.kind = OperationKind::kAllReduce, .count = 10}}};
  const auto time_of = [&] {
    const Outcome outcome = run_simulated(scenario, threads);
    EXPECT_EQ(judge_schedule(scenario, outcome), "");
    return outcome.ranks[0].calls[0].ended_at - outcome.ranks[0].calls[0].began_at;
  };
  EXPECT_LT(time_of(), std::chrono::milliseconds(50));
  scenario.faults = {{.kind = Fault::Kind::kStop, .ranks = {2}, .step = 0, .lasts = 700ms}};
  EXPECT_GE(time_of(), std::chrono::milliseconds(650));
  scenario.faults[0].kind = Fault::Kind::kSlow;
  EXPECT_GE(time_of(), scenario.timeout / 50);
}

TEST(SimulatedRun, WrongResultsAreSeen) {
  RankThreads threads;
  Scenario scenario{.ranks = 3, .calls = {{.kind = OperationKind::kAllReduce, .count = 10}}};
  Outcome outcome = run_simulated(scenario, threads);
  EXPECT_EQ(judge_schedule(scenario, outcome), "");
  for (const RankOutcome& rank : outcome.ranks) EXPECT_EQ(rank.calls.size(), 2u);
  // Rank 2's result is compared with that of a sum, not of what it called.
  scenario.deviations = {{.ranks = {2},
                          .kind = Deviation::Kind::kReplace,
                          .call = {.kind = OperationKind::kAllReduce, .count = 9}}};
  outcome = run_simulated(scenario, threads);
  EXPECT_NE(judge_schedule(scenario, outcome), "");
  EXPECT_EQ(judge_disagreement(scenario, outcome), "");
}

}  // namespace
}  // namespace paceline::testing
