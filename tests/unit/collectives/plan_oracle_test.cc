// The oracle that judges what the checker lets pass must itself see faults.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/algo/algorithms.h"
#include "collectives/plan/builder.h"
#include "collectives/proof/check.h"
#include "tests/harness/plan_form.h"
#include "tests/harness/plan_interpreter.h"
#include "tests/harness/plan_mutation.h"

namespace paceline {
namespace {

constexpr int kRuns = 40;

class Oracle : public ::testing::TestWithParam<Algorithm> {
 protected:
  std::vector<PlanRequest> request(int ranks) const {
    PlanRequest asked{
        .kind = GetParam().kind, .ranks = ranks, .root = ranks / 2, .segment_count = 4};
    asked.count = testing::count_of_call(asked, 23);
    return testing::uneven_requests(asked);
  }
};

TEST_P(Oracle, FindsNoFaultInTheAlgorithms) {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    const auto wrong =
        testing::run_often(plans_of(GetParam(), request(ranks)), request(ranks), kRuns, Random(7));
    EXPECT_FALSE(wrong.has_value()) << ranks << " ranks: " << *wrong;
  }
}

TEST_P(Oracle, EveryMutantIsRefusedOrRunsRight) {
  for (const testing::MutationClass what : testing::kMutationClasses) {
    for (std::uint64_t seed = 1; seed <= 25; ++seed) {
      Random random(seed);
      std::vector<Plan> plans = plans_of(GetParam(), request(4));
      const auto words = testing::mutate(plans, what, random);
      if (!words || !check(plans, request(4)).ok()) continue;
      const auto wrong = testing::run_often(plans, request(4), kRuns, random);
      EXPECT_FALSE(wrong.has_value())
          << name(what) << ", seed " << seed << ": " << *words << ": " << *wrong;
    }
  }
}

TEST_P(Oracle, SeesDroppedSteps) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    Random random(seed);
    std::vector<Plan> plans = plans_of(GetParam(), request(4));
    ASSERT_TRUE(testing::mutate(plans, testing::MutationClass::kDropped, random));
    // Without both ends of an empty message all is right.
    const bool harmless = check(plans, request(4)).ok();
    EXPECT_NE(testing::run_often(plans, request(4), kRuns, random).has_value(), harmless)
        << "seed " << seed;
    EXPECT_TRUE(!harmless || GetParam().kind == OperationKind::kAllToAllV) << "seed " << seed;
    EXPECT_FALSE(testing::same_form(plans, plans_of(GetParam(), request(4)))) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Table, Oracle, ::testing::ValuesIn(algorithms()), [](const auto& row) {
  return std::string(name(row.param.kind)) + "_" + std::string(row.param.name);
});

std::vector<Plan> exchange(const PlanRequest& request, bool send_first) {
  std::vector<Plan> plans;
  for (int rank = 0; rank < 2; ++rank) {
    PlanRequest own = request;
    own.rank = rank;
    PlanBuilder builder(own);
    const Span slot = builder.reserve_scratch(request.count);
    if (send_first) builder.send(1 - rank, input(0), request.count);
    builder.recv(1 - rank, slot, request.count);
    if (!send_first) builder.send(1 - rank, input(0), request.count);
    builder.reduce({.target = output(0), .operands = {slot, input(0)}, .count = request.count});
    plans.push_back(std::move(builder).finish());
  }
  return plans;
}

TEST(Oracle, SeesARaceWithASendThatReadsLate) {
  const PlanRequest request{.kind = OperationKind::kAllReduce, .ranks = 2, .count = 5};
  std::vector<Plan> plans = exchange(request, true);
  ASSERT_FALSE(testing::run_often(plans, requests_of(request), kRuns, Random(1)));
  plans[0].dependencies[0] = 1;  // the reduce no longer waits for the send
  EXPECT_TRUE(testing::run_often(plans, requests_of(request), kRuns, Random(1)));
}

TEST(Oracle, SeesADeadlockOfSynchronousSends) {
  const PlanRequest request{.kind = OperationKind::kBarrier, .ranks = 2};
  std::vector<Plan> plans;
  for (int rank = 0; rank < 2; ++rank) {
    PlanRequest own = request;
    own.rank = rank;
    PlanBuilder builder(own);
    builder.send(1 - rank, input(0), 0);
    builder.fence();
    builder.recv(1 - rank, output(0), 0);
    plans.push_back(std::move(builder).finish());
  }
  EXPECT_FALSE(testing::run_barrier(plans, {.synchronous_sends = false}, Random(1)));
  EXPECT_TRUE(testing::run_barrier(plans, {.synchronous_sends = true}, Random(1)));
}

TEST(SameForm, ForgivesThePlaceInTheListOnly) {
  const PlanRequest request{.kind = OperationKind::kAllReduce, .ranks = 2, .count = 5};
  const std::vector<Plan> a = exchange(request, true);
  std::vector<Plan> b = exchange(request, false);
  EXPECT_NE(a, b);
  EXPECT_TRUE(testing::same_form(a, b));
  b[1].operands[0].offset = 1;
  EXPECT_FALSE(testing::same_form(a, b));
}

TEST(Mutation, IsTheSameForTheSameSeed) {
  const PlanRequest request{.kind = OperationKind::kAllReduce, .ranks = 2, .count = 5};
  for (const testing::MutationClass what : testing::kMutationClasses) {
    std::vector<Plan> a = exchange(request, true);
    std::vector<Plan> b = exchange(request, true);
    Random random_a(3);
    Random random_b(3);
    EXPECT_EQ(testing::mutate(a, what, random_a), testing::mutate(b, what, random_b)) << name(what);
    EXPECT_EQ(a, b) << name(what);
  }
}

}  // namespace
}  // namespace paceline
