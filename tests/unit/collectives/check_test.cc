// The checker refuses each kind of defect, and says where it is.
#include "collectives/proof/check.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/algo/algorithms.h"
#include "collectives/algo/ring.h"
#include "collectives/plan/builder.h"

namespace paceline {
namespace {

constexpr std::size_t kCount = 10;

PlanRequest exchange_request(int rank = 0) {
  return {.kind = OperationKind::kAllReduce, .rank = rank, .ranks = 2, .count = kCount};
}

// All-reduce of two ranks: steps 0 send, 1 recv, 2 reduce.
std::vector<Plan> exchange() {
  std::vector<Plan> plans;
  for (int rank = 0; rank < 2; ++rank) {
    PlanBuilder builder(exchange_request(rank));
    const Span slot = builder.reserve_scratch(kCount);
    builder.send(1 - rank, input(0), kCount);
    builder.recv(1 - rank, slot, kCount);
    builder.reduce({.target = output(0),
                    .operands = {rank == 0 ? input(0) : slot, rank == 0 ? slot : input(0)},
                    .count = kCount});
    plans.push_back(std::move(builder).finish());
  }
  return plans;
}

void expect_refused(const std::vector<Plan>& plans, const PlanRequest& request, int rank,
                    const std::string& what) {
  const Status status = check(plans, request);
  ASSERT_FALSE(status.ok()) << "expected: " << what;
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_EQ(status.culprit().rank, rank) << status.to_string();
  EXPECT_NE(status.text().find(what), std::string::npos) << status.text();
}

void expect_refused(const std::vector<Plan>& plans, int rank, const std::string& what) {
  expect_refused(plans, exchange_request(), rank, what);
}

TEST(Check, AcceptsTheExchange) {
  const Status status = check(exchange(), exchange_request());
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST(CheckShape, WrongNumberOfPlans) {
  std::vector<Plan> plans = exchange();
  plans.pop_back();
  EXPECT_FALSE(check(plans, exchange_request()).ok());
  EXPECT_FALSE(check({}, {.kind = OperationKind::kBarrier, .ranks = 0}).ok());
}

TEST(CheckShape, PlansInTheWrongOrderOrOfAnotherLength) {
  std::vector<Plan> plans = exchange();
  std::swap(plans[0], plans[1]);
  expect_refused(plans, 1, "in the place of rank 0");
  plans = exchange();
  plans[1].shape.input_count = kCount - 1;
  expect_refused(plans, 1, "the length or position of the input or output differs");
}

TEST(CheckStructure, SpansBeyondTheirBuffers) {
  std::vector<Plan> plans = exchange();
  plans[1].steps[0].from.offset = 1;
  expect_refused(plans, 1, "step 0 (send 10 from input[1] to rank 0): reaches beyond");
  plans = exchange();
  plans[0].steps[1].count = SIZE_MAX;
  expect_refused(plans, 0, "reaches beyond");
  plans = exchange();
  plans[0].steps[1].target.offset = SIZE_MAX;
  expect_refused(plans, 0, "reaches beyond");
}

TEST(CheckStructure, PeersThatAreNone) {
  for (const int peer : {-1, 2, 1 << 30}) {
    std::vector<Plan> plans = exchange();
    plans[0].steps[0].peer = peer;
    expect_refused(plans, 0, "the peer does not exist");
  }
  std::vector<Plan> plans = exchange();
  plans[1].steps[1].peer = 1;
  expect_refused(plans, 1, "the peer is the rank itself");
}

TEST(CheckStructure, DependenciesThatPointForwards) {
  std::vector<Plan> plans = exchange();
  plans[0].dependencies[0] = 2;
  expect_refused(plans, 0, "depends on step 2, which does not come before it");
  plans = exchange();
  plans[0].steps[2].dependency_count = 100;
  expect_refused(plans, 0, "are not within the plan's list of dependencies");
}

TEST(CheckStructure, WritesToTheInput) {
  std::vector<Plan> plans = exchange();
  plans[0].steps[2].target = input(0);
  expect_refused(plans, 0, "writes the input");
}

TEST(CheckStructure, PartialOverlapInAStep) {
  std::vector<Plan> plans = exchange();
  plans[0].steps[2].count = 4;
  plans[0].steps[2].target = output(3);
  expect_refused(plans, 0, "overwrites a part of the elements that it reads");
  plans[0].steps[2].target = output(4);
  const Status status = check(plans, exchange_request());
  EXPECT_EQ(status.text().find("writes over"), std::string::npos) << "side by side is no overlap";
}

TEST(CheckRaces, ReduceThatDoesNotWaitForItsOperand) {
  std::vector<Plan> plans = exchange();
  ASSERT_EQ(plans[0].steps[2].dependency_count, 2u);
  plans[0].steps[2].dependency_count = 1;
  expect_refused(plans, 0,
                 "step 2 (reduce 10: output[0] = input[0] op scratch[0]): races with step 1");
}

TEST(CheckRaces, WriteThatDoesNotWaitForTheSendInPlace) {
  std::vector<Plan> plans = exchange();
  plans[1].dependencies[0] = 1;
  expect_refused(plans, 1,
                 "races with step 0 (send 10 from input[0] to rank 0) for input or output[0]");
}

TEST(CheckRaces, TwoWritesAndChains) {
  const PlanRequest request{.kind = OperationKind::kBroadcast, .ranks = 1, .count = 4};
  PlanBuilder builder(request);
  builder.copy({.target = output(0), .from = input(0), .count = 4});
  builder.copy({.target = output(2), .from = input(2), .count = 2});
  builder.copy({.target = output(2), .from = input(2), .count = 2});
  std::vector<Plan> plans{std::move(builder).finish()};
  EXPECT_TRUE(check(plans, request).ok()) << "ordered by a chain";
  plans[0].steps[2].dependency_count = 0;
  expect_refused(plans, request, 0, "races with step 1");
}

TEST(CheckValues, OperandsWithAWrongNumberOfContributions) {
  const PlanRequest request{.kind = OperationKind::kAllReduce, .ranks = 3, .count = 3};
  std::vector<Plan> plans;
  for (const PlanRequest& each : requests_of(request)) plans.push_back(plan_ring(each));
  EXPECT_TRUE(check(plans, request).ok());
  plans[2].contributions.front() = 2;
  expect_refused(plans, request, 2, "operand 0 holds contributions of 1 ranks, not of 2");
}

TEST(CheckMatching, MessagesWithOneEnd) {
  std::vector<Plan> plans = exchange();
  plans[0].steps.push_back({.kind = StepKind::kSend, .peer = 1});
  expect_refused(plans, 0,
                 "step 3 (send 0 from input[0] to rank 1): the peer has no matching recv");

  PlanBuilder silent(exchange_request(0));
  plans = exchange();
  plans[0] = std::move(silent).finish();
  expect_refused(plans, 1, "the peer has no matching send");
}

TEST(CheckMatching, CountsThatDiffer) {
  std::vector<Plan> plans = exchange();
  plans[0].steps[0].count = 9;
  expect_refused(plans, 0, "\"recv 10 from rank 0 into scratch[0]\", but the counts differ");
}

TEST(CheckDeadlock, SendsThatWaitForEachOthersRecv) {
  // Each rank receives only once its own send has ended: fine as long as messages are buffered.
  std::vector<Plan> plans;
  for (int rank = 0; rank < 2; ++rank) {
    PlanBuilder builder(exchange_request(rank));
    const Span slot = builder.reserve_scratch(kCount);
    builder.send(1 - rank, input(0), kCount);
    builder.fence();
    builder.recv(1 - rank, slot, kCount);
    builder.reduce({.target = output(0), .operands = {slot, input(0)}, .count = kCount});
    plans.push_back(std::move(builder).finish());
  }
  const Status status = check(plans, exchange_request());
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.text().find("deadlock"), std::string::npos) << status.text();
}

TEST(CheckDeadlock, MessagesThatOvertake) {
  // Rank 0 forwards what it receives first; its peer sends that second.
  const PlanRequest request{.kind = OperationKind::kBarrier, .ranks = 2};
  std::vector<Plan> plans;
  for (int rank = 0; rank < 2; ++rank) {
    PlanRequest own = request;
    own.rank = rank;
    PlanBuilder builder(own);
    builder.recv(1 - rank, output(0), 0);
    builder.fence();
    builder.send(1 - rank, input(0), 0);
    plans.push_back(std::move(builder).finish());
  }
  const Status status = check(plans, request);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.text().find("this one waits for rank"), std::string::npos) << status.text();
}

TEST(CheckValues, ReadOfScratchThatNothingWrote) {
  std::vector<Plan> plans = exchange();
  for (Plan& plan : plans) plan.scratch_count += 1;
  plans[0].operands[1].offset = 1;
  expect_refused(plans, 0, "out of place: element 9 of an operand was never written");
}

TEST(CheckValues, OutputThatIsNotWritten) {
  std::vector<Plan> plans = exchange();
  plans[1].steps[2].count = 7;
  expect_refused(plans, 1, "out of place: output[7] is never written");
}

TEST(CheckValues, ContributionsTwiceOrMissingOrElsewhere) {
  std::vector<Plan> plans = exchange();
  plans[1].operands[0] = input(0);
  expect_refused(plans, 1, "output[0] holds the contribution of rank 1 2 times");

  plans = exchange();
  plans[0].steps[2] = {.kind = StepKind::kCopy,
                       .count = kCount,
                       .target = output(0),
                       .from = input(0),
                       .first_dependency = 0,
                       .dependency_count = 2};
  expect_refused(plans, 0, "output[0] lacks the contribution of rank 1");

  const PlanRequest alone{.kind = OperationKind::kAllReduce, .ranks = 1, .count = 2};
  PlanBuilder builder(alone);
  builder.copy({.target = output(0), .from = input(1), .count = 1});
  builder.copy({.target = output(1), .from = input(0), .count = 1});
  expect_refused({std::move(builder).finish()}, alone, 0,
                 "output[0] holds an element of rank 0 that is shifted by 1");
}

TEST(CheckValues, OperandsInAnotherOrderThanOnTheOtherRank) {
  std::vector<Plan> plans = exchange();
  std::swap(plans[1].operands[0], plans[1].operands[1]);
  expect_refused(plans, 1, "in another order than on rank 0");
}

TEST(CheckRankOrder, KnowsOneReduceInRankOrder) {
  EXPECT_TRUE(check_rank_order(exchange(), requests_of(exchange_request())).ok());
  std::vector<Plan> plans = exchange();
  for (Plan& plan : plans) std::swap(plan.operands[0], plan.operands[1]);
  ASSERT_TRUE(check(plans, exchange_request()).ok()) << "right, but not in that order";
  EXPECT_FALSE(check_rank_order(plans, requests_of(exchange_request())).ok());
  // Two reduces round twice.
  const PlanRequest three{.kind = OperationKind::kAllReduce, .ranks = 3, .count = 6};
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.kind != three.kind) continue;
    const Status status = check_rank_order(plans_of(algorithm, three), requests_of(three));
    EXPECT_EQ(status.ok(), algorithm.in_rank_order) << algorithm.name << ": " << status.to_string();
  }
}

TEST(CheckValues, WrongInPlaceOnly) {
  // The second reduce repeats the first: harmless unless the first has changed the input.
  std::vector<Plan> plans = exchange();
  Step again = plans[0].steps[2];
  again.first_dependency = static_cast<std::uint32_t>(plans[0].dependencies.size());
  again.dependency_count = 1;
  plans[0].dependencies.push_back(2);
  plans[0].steps.push_back(again);
  expect_refused(plans, 0, "in place: output[0] holds the contribution of rank 1 2 times");
}

TEST(CheckValues, BroadcastOfTheWrongElement) {
  PlanRequest request{.kind = OperationKind::kBroadcast, .ranks = 2, .root = 1, .count = 4};
  std::vector<Plan> plans;
  for (request.rank = 0; request.rank < 2; ++request.rank) {
    PlanBuilder builder(request);
    if (request.rank == 0) {
      builder.recv(1, output(2), 2);
      builder.recv(1, output(0), 2);
    } else {
      builder.send(0, input(0), 2);
      builder.send(0, input(2), 2);
      builder.copy({.target = output(0), .from = input(0), .count = 4});
    }
    plans.push_back(std::move(builder).finish());
  }
  expect_refused(plans, request, 0, "output[0] is not the expected element of rank 1");
  std::swap(plans[0].steps[0], plans[0].steps[1]);
  EXPECT_TRUE(check(plans, request).ok());
}

TEST(CheckBarrier, RankThatNobodyWaitsFor) {
  const PlanRequest request{.kind = OperationKind::kBarrier, .ranks = 3};
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.kind != OperationKind::kBarrier) continue;
    std::vector<Plan> plans = plans_of(algorithm, request);
    ASSERT_TRUE(check(plans, request).ok());
    for (Plan& plan : plans) plan.steps.clear();
    expect_refused(plans, request, 0, "may leave the barrier before rank 1 has entered it");
  }
}

TEST(CheckBarrier, SendThatDoesNotWaitForWhatItPassesOn) {
  // 0 tells 1, 1 tells 2, 2 tells both: right only if each one waits to be told.
  const PlanRequest request{.kind = OperationKind::kBarrier, .ranks = 3};
  std::vector<Plan> plans;
  for (int rank = 0; rank < 3; ++rank) {
    PlanRequest own = request;
    own.rank = rank;
    PlanBuilder builder(own);
    if (rank > 0) builder.recv(rank - 1, output(0), 0);
    builder.fence();
    if (rank < 2) builder.send(rank + 1, input(0), 0);
    if (rank < 2) builder.recv(2, output(0), 0);
    if (rank == 2) builder.send(0, input(0), 0);
    if (rank == 2) builder.send(1, input(0), 0);
    plans.push_back(std::move(builder).finish());
  }
  EXPECT_TRUE(check(plans, request).ok()) << check(plans, request).to_string();
  plans[1].steps[1].dependency_count = 0;
  expect_refused(plans, request, 2, "may leave the barrier before rank 0 has entered it");
}

}  // namespace
}  // namespace paceline
