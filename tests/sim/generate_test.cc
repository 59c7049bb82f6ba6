// What seeds make: the same each time, all kinds of everything, and always something that can run.

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "tests/sim/scenario.h"

namespace paceline::testing {
namespace {

TEST(Generate, OneSeedIsOneScenario) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(generate(seed, {}), generate(seed, {}));
    EXPECT_NE(generate(seed, {}), generate(seed + 1, {}));
  }
}

TEST(Generate, AllKindsOfEverythingWithinTheBounds) {
  std::set<int> ranks;
  std::set<OperationKind> kinds;
  std::set<std::string> algorithms;
  std::set<bool> asynchronous;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Scenario scenario = generate(seed, {.min_ranks = 3, .max_ranks = 9, .max_calls = 4});
    ranks.insert(scenario.ranks);
    algorithms.insert(scenario.algorithm);
    EXPECT_GE(scenario.calls.size(), 1u);
    EXPECT_LE(scenario.calls.size(), 4u);
    for (const Call& call : scenario.calls) {
      kinds.insert(call.kind);
      asynchronous.insert(call.asynchronous);
      EXPECT_LT(call.root, scenario.ranks);
    }
  }
  EXPECT_EQ(ranks, (std::set<int>{3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(kinds.size(), std::size(kOperationKinds) - 3) << "all but close, send and receive";
  EXPECT_EQ(algorithms.size(), 5u);
  EXPECT_EQ(asynchronous.size(), 2u);
}

TEST(Faults, LeaveSurvivorsAndComeAtAnyStep) {
  std::set<std::uint64_t> first_steps;
  int two = 0, healed = 0, parted = 0, stopped = 0, slow = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Scenario scenario = generate(seed, {});
    Random random(seed);
    place_faults(scenario, 20, random);
    ASSERT_FALSE(scenario.faults.empty());
    const Fault& first = scenario.faults.front();
    first_steps.insert(first.step);
    two += scenario.faults.size() == 2;
    const bool cut = first.kind == Fault::Kind::kCut;
    healed += cut && first.lasts.count() > 0;
    parted += cut && first.lasts.count() == 0;
    stopped += first.kind == Fault::Kind::kStop;
    slow += first.kind == Fault::Kind::kSlow;
    EXPECT_LT(first.lasts, scenario.timeout);
    for (const Fault& fault : scenario.faults) {
      ASSERT_FALSE(fault.ranks.empty());
      EXPECT_LT(static_cast<int>(fault.ranks.size()), scenario.ranks);
      EXPECT_LT(fault.ranks.back(), scenario.ranks);
    }
    const bool same = scenario.faults.front().ranks == scenario.faults.back().ranks;
    EXPECT_TRUE(scenario.faults.size() == 1 || (scenario.ranks > 2 && !same));
  }
  EXPECT_EQ(first_steps.size(), 21u) << "from before the first step to after the last";
  EXPECT_GT(two, 200);
  EXPECT_GT(healed, 200);
  EXPECT_GT(parted, 200);
  EXPECT_GT(stopped, 200);
  EXPECT_GT(slow, 200);
}

// Some rank calls something that disagrees with what another calls in that place.
bool differs(const Scenario& scenario) {
  const std::vector<Call> deviant = calls_of(scenario, scenario.deviations.front().ranks.front());
  if (deviant.size() != scenario.calls.size()) return true;
  for (std::size_t i = 0; i < deviant.size(); ++i) {
    if (!deviant[i].agrees_with(scenario.calls[i])) return true;
  }
  return false;
}

TEST(Disagreements, AlwaysDisagreeAndLeaveOneWhoDoesNot) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Scenario scenario = generate(seed, {.max_ranks = 8});
    Random random(seed);
    const Difference difference = kDifferences[seed % std::size(kDifferences)];
    place_disagreement(scenario, difference, random);
    ASSERT_EQ(scenario.deviations.size(), 1u);
    EXPECT_TRUE(differs(scenario)) << "seed " << seed << ", " << name(difference);
    EXPECT_LT(scenario.deviations.front().ranks.size(), static_cast<std::size_t>(scenario.ranks));
  }
}

TEST(Disagreements, StayWhatTheyAreWhenTheyAreEnlarged) {
  constexpr std::size_t kMost = 100'000;
  int large = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Scenario scenario = generate(seed, {});
    Random random(seed);
    place_disagreement(scenario, kDifferences[seed % std::size(kDifferences)], random);
    enlarge(scenario, kMost);
    EXPECT_TRUE(differs(scenario)) << "seed " << seed;
    std::size_t largest = scenario.deviations.front().call.count;
    for (const Call& call : scenario.calls) largest = std::max(largest, call.count);
    EXPECT_LE(largest, kMost);
    large += largest > kMost / 2;
  }
  EXPECT_GT(large, 400);
}

TEST(Deviations, ChangeTheCallsOfTheirRanksAlone) {
  const Call barrier;
  const Call reduce{.kind = OperationKind::kAllReduce, .count = 5};
  Scenario scenario{.ranks = 3, .calls = {barrier, reduce, barrier}};
  const auto of_deviant = [&](Deviation::Kind kind, std::size_t index) {
    scenario.deviations = {{.ranks = {1}, .index = index, .kind = kind, .call = reduce}};
    EXPECT_EQ(calls_of(scenario, 0), scenario.calls);
    return calls_of(scenario, 1);
  };
  EXPECT_EQ(of_deviant(Deviation::Kind::kSkip, 1), (std::vector{barrier, barrier}));
  EXPECT_EQ(of_deviant(Deviation::Kind::kSwap, 0), (std::vector{reduce, barrier, barrier}));
  EXPECT_EQ(of_deviant(Deviation::Kind::kReplace, 2), (std::vector{barrier, reduce, reduce}));
  EXPECT_EQ(of_deviant(Deviation::Kind::kSkip, 3), scenario.calls);
}

}  // namespace
}  // namespace paceline::testing
