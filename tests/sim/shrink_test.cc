// The shrinker against judges whose shortest failing scenario is known.

#include "tests/sim/shrink.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace paceline::testing {
namespace {

Scenario large() {
  Scenario scenario = generate(11, {.min_ranks = 16});
  scenario.calls.assign(9, {.kind = OperationKind::kAllReduce,
                            .count = 100,
                            .type = DataType::kInt64,
                            .op = ReduceOp::kMax,
                            .asynchronous = true});
  scenario.calls[6] = {.kind = OperationKind::kBroadcast, .count = 77, .root = 13};
  scenario.faults = {{.ranks = {3}, .step = 400}, {.ranks = {15}, .step = 500}};
  return scenario;
}

bool has_broadcast(const Scenario& scenario, std::size_t count) {
  return std::ranges::any_of(scenario.calls, [&](const Call& call) {
    return call.kind == OperationKind::kBroadcast && call.count >= count;
  });
}

TEST(Shrink, FindsTheOneCallThatMatters) {
  const Scenario shortest =
      shrink(large(), [](const Scenario& each) { return has_broadcast(each, 10); }, {});
  ASSERT_EQ(shortest.calls.size(), 1u);
  EXPECT_EQ(shortest.calls[0].kind, OperationKind::kBroadcast);
  EXPECT_GE(shortest.calls[0].count, 10u);
  EXPECT_LT(shortest.calls[0].count, 20u) << "halving it once more is right again";
  EXPECT_EQ(shortest.calls[0].root, 0);
  EXPECT_EQ(shortest.ranks, 2);
  EXPECT_TRUE(shortest.faults.empty());
}

TEST(Shrink, KeepsWhatTheFailureNeeds) {
  const auto needs_much = [](const Scenario& each) {
    return each.ranks >= 5 && each.faults.size() == 1 && each.calls.size() >= 3;
  };
  Scenario scenario = large();
  scenario.faults.pop_back();
  const Scenario shortest = shrink(scenario, needs_much, {});
  EXPECT_EQ(shortest.ranks, 5);
  EXPECT_EQ(shortest.faults.size(), 1u);
  EXPECT_EQ(shortest.calls, std::vector<Call>(3));
}

// A failure of some schedules only is found again in another one.
TEST(Shrink, TriesOtherSchedules) {
  const auto sometimes = [](const Scenario& each) { return each.seed % 5 == 1; };
  Scenario scenario = large();
  scenario.seed = 6;
  const Scenario shortest = shrink(scenario, sometimes, {});
  EXPECT_TRUE(shortest.calls.empty());
  EXPECT_EQ(shortest.ranks, 2);
  EXPECT_EQ(shortest.seed % 5, 1u);
}

TEST(Shrink, EndsAfterItsTriesWithSomethingThatFails) {
  int tries = 0;
  const auto fails = [&](const Scenario& each) {
    ++tries;
    return each.calls.size() >= 4;
  };
  const Scenario shortest = shrink(large(), fails, {.tries = 25});
  EXPECT_LE(tries, 25);
  EXPECT_GE(shortest.calls.size(), 4u);
  EXPECT_EQ(shrink(large(), fails, {.tries = 0}), large());
}

TEST(Simpler, NeverNamesARankThatIsNotThere) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Scenario scenario = generate(seed, {});
    Random random(seed);
    place_faults(scenario, 100, random);
    place_disagreement(scenario, kDifferences[seed % std::size(kDifferences)], random);
    for (const Scenario& each : simpler(scenario)) {
      EXPECT_NE(each, scenario);
      for (const Call& call : each.calls) EXPECT_LT(call.root, each.ranks);
      for (const Fault& fault : each.faults) EXPECT_LT(fault.ranks.back(), each.ranks);
      for (const Deviation& deviation : each.deviations) {
        EXPECT_LT(deviation.ranks.back(), each.ranks);
        EXPECT_LT(deviation.call.root, each.ranks);
      }
    }
  }
}

}  // namespace
}  // namespace paceline::testing
