#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/algo/ring.h"
#include "collectives/plan/builder.h"

namespace paceline {
namespace {

using Ids = std::vector<StepId>;

class PlanBuilderTest : public ::testing::Test {
 protected:
  // The dependencies of each step, in order.
  std::vector<Ids> dependencies() {
    const Plan plan = std::move(builder_).finish();
    std::vector<Ids> lists;
    for (const Step& step : plan.steps) {
      const auto list = plan.dependencies_of(step);
      lists.emplace_back(list.begin(), list.end());
    }
    return lists;
  }

  PlanBuilder builder_{{.kind = OperationKind::kAllReduce, .rank = 1, .ranks = 3, .count = 100}};
};

TEST_F(PlanBuilderTest, TakesSizesFromTheRequest) {
  const Plan all_reduce = std::move(builder_).finish();
  EXPECT_EQ(all_reduce.rank, 1);
  EXPECT_EQ(all_reduce.ranks, 3);
  EXPECT_EQ(all_reduce.shape.input_count, 100u);
  EXPECT_EQ(all_reduce.shape.output_count, 100u);

  PlanRequest request{.kind = OperationKind::kBroadcast, .rank = 1, .ranks = 3, .count = 100};
  EXPECT_EQ(PlanBuilder(request).finish().shape.input_count, 0u) << "only the root has an input";
  request.root = 1;
  EXPECT_EQ(PlanBuilder(request).finish().shape.input_count, 100u);
  EXPECT_EQ(PlanBuilder({.kind = OperationKind::kBarrier}).finish().shape.output_count, 0u);
}

TEST_F(PlanBuilderTest, ReadsFollowTheWriteAndNotEachOther) {
  builder_.recv(0, output(10), 20);
  builder_.send(2, output(10), 20);
  builder_.send(0, output(29), 1);
  builder_.send(2, output(30), 5);
  EXPECT_EQ(dependencies(), (std::vector<Ids>{{}, {0}, {0}, {}}));
}

TEST_F(PlanBuilderTest, WriteFollowsReadersOfAnyPartOfIt) {
  builder_.send(2, output(0), 10);
  builder_.send(2, output(10), 10);
  builder_.send(2, output(20), 10);
  builder_.recv(0, output(9), 2);
  EXPECT_EQ(dependencies(), (std::vector<Ids>{{}, {}, {}, {0, 1}}));
}

TEST_F(PlanBuilderTest, WriteFollowsWrite) {
  builder_.recv(0, output(0), 10);
  builder_.recv(0, output(5), 10);
  builder_.recv(0, output(5), 1);
  EXPECT_EQ(dependencies(), (std::vector<Ids>{{}, {0}, {1}}));
}

TEST_F(PlanBuilderTest, InputAndOutputAreOneMemoryAndScratchIsAnother) {
  const Span scratch = builder_.reserve_scratch(50);
  builder_.send(2, input(40), 10);
  builder_.recv(0, output(45), 1);
  builder_.recv(0, Span{PlanBuffer::kScratch, scratch.offset + 45}, 1);
  EXPECT_EQ(dependencies(), (std::vector<Ids>{{}, {0}, {}}));
}

TEST_F(PlanBuilderTest, ReduceOverItsOwnOperandDoesNotDependOnItself) {
  const Span slot = builder_.reserve_scratch(10);
  builder_.recv(0, slot, 10);
  builder_.reduce({.target = output(0), .operands = {slot, input(0)}, .count = 10});
  builder_.recv(0, slot, 10);
  builder_.reduce({.target = output(0), .operands = {slot, output(0)}, .count = 10});
  EXPECT_EQ(dependencies(), (std::vector<Ids>{{}, {0}, {1}, {2}}))
      << "the second reduce follows the first through the slot";
}

TEST_F(PlanBuilderTest, DirectlyImpliedDependenciesAreDropped) {
  builder_.recv(0, output(0), 10);
  builder_.copy({.target = output(10), .from = output(0), .count = 10});
  builder_.send(2, output(0), 20);
  EXPECT_EQ(dependencies(), (std::vector<Ids>{{}, {0}, {1}}));
}

TEST_F(PlanBuilderTest, LocalStepsOnNothingAreLeftOut) {
  builder_.copy({.target = output(0), .from = input(0), .count = 0});
  builder_.reduce({.target = output(0), .operands = {input(0), input(0)}, .count = 0});
  builder_.send(0, input(0), 0);
  EXPECT_EQ(dependencies().size(), 1u) << "an empty message is a message";
}

TEST_F(PlanBuilderTest, FenceOrdersWhatTouchesNothing) {
  builder_.fence();
  builder_.send(2, input(0), 0);
  builder_.recv(0, output(0), 0);
  builder_.fence();
  builder_.fence();
  builder_.send(0, input(0), 0);
  builder_.recv(2, output(0), 0);
  EXPECT_EQ(dependencies(), (std::vector<Ids>{{}, {}, {0, 1}, {0, 1}}));
}

TEST_F(PlanBuilderTest, FenceTakesThePlaceOfOlderDependencies) {
  builder_.recv(0, output(0), 10);
  builder_.send(2, output(0), 10);
  builder_.send(2, input(50), 10);
  builder_.fence();
  builder_.send(0, output(0), 10);
  builder_.recv(0, output(0), 10);
  EXPECT_EQ(dependencies(), (std::vector<Ids>{{}, {0}, {}, {1, 2}, {3}}));
}

TEST(PlanBuilder, ListsStayShortHoweverManySegments) {
  const Plan plan = plan_ring({.kind = OperationKind::kAllReduce,
                               .rank = 2,
                               .ranks = 5,
                               .count = 50000,
                               .segment_count = 1});
  EXPECT_EQ(plan.steps.size(), 5u * 10000u * 4u);
  EXPECT_LT(plan.dependencies.size(), 2 * plan.steps.size());
  EXPECT_EQ(plan.scratch_count, 4u);
}

}  // namespace
}  // namespace paceline
