#include "launcher/tools/measure/probe/loop/in_parts.h"

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::probe {
namespace {

// Rank 1 of 3, which notes what it is called for and fails where it is told to.
class Noting final : public Subject {
 public:
  int rank() const override { return 1; }
  int size() const override { return 3; }
  Status call(const Call& call) override {
    calls.push_back(call);
    return call.kind == fails ? not_measured("failed") : Status();
  }

  std::vector<Call> calls;
  OperationKind fails = OperationKind::kBarrier;
};

class OfThreeRanks : public ::testing::Test {
 protected:
  Status all_reduce(std::string_view parts, std::size_t count) {
    InParts in_parts(whole_, InParts::find(parts));
    return in_parts.all_reduce(in_.data(), {out_.data(), count, DataType::kFloat32},
                               ReduceOp::kMax);
  }

  Noting whole_;
  std::array<float, 6> in_{}, out_{};
};

TEST_F(OfThreeRanks, ReduceAndBroadcast) {
  ASSERT_TRUE(all_reduce("reduce+broadcast", 5).ok());
  ASSERT_EQ(whole_.calls.size(), 2u);
  const Call& reduce = whole_.calls[0];
  EXPECT_EQ(reduce.kind, OperationKind::kReduce);
  EXPECT_EQ(reduce.in, in_.data());
  EXPECT_EQ(reduce.out, out_.data());
  EXPECT_EQ(reduce.count, 5u);
  EXPECT_EQ(reduce.op, ReduceOp::kMax);
  const Call& broadcast = whole_.calls[1];
  EXPECT_EQ(broadcast.kind, OperationKind::kBroadcast);
  EXPECT_EQ(broadcast.out, out_.data());
  EXPECT_EQ(broadcast.count, 5u);
  EXPECT_EQ(broadcast.root, reduce.root);
}

TEST_F(OfThreeRanks, ReduceScatterAndAllGather) {
  ASSERT_TRUE(all_reduce("reduce_scatter+all_gather", 6).ok());
  ASSERT_EQ(whole_.calls.size(), 2u);
  const Call& scatter = whole_.calls[0];
  EXPECT_EQ(scatter.kind, OperationKind::kReduceScatter);
  EXPECT_EQ(scatter.in, in_.data());
  EXPECT_EQ(scatter.out, &out_[2]);
  EXPECT_EQ(scatter.count, 2u);
  EXPECT_EQ(scatter.op, ReduceOp::kMax);
  const Call& gather = whole_.calls[1];
  EXPECT_EQ(gather.kind, OperationKind::kAllGather);
  EXPECT_EQ(gather.in, &out_[2]);
  EXPECT_EQ(gather.out, out_.data());
  EXPECT_EQ(gather.count, 2u);
}

TEST_F(OfThreeRanks, EqualPartsOnly) {
  EXPECT_EQ(all_reduce("reduce_scatter+all_gather", 5).text(),
            "5 elements cannot be divided equally among 3 ranks");
  EXPECT_TRUE(whole_.calls.empty());
}

TEST_F(OfThreeRanks, NothingFollowsAPartThatFailed) {
  whole_.fails = OperationKind::kReduce;
  EXPECT_EQ(all_reduce("reduce+broadcast", 1).text(), "failed");
  EXPECT_EQ(whole_.calls.size(), 1u);
}

TEST_F(OfThreeRanks, OtherOperationsAreWhole) {
  InParts in_parts(whole_, InParts::find("reduce+broadcast"));
  ASSERT_TRUE(in_parts.call({.kind = OperationKind::kAllGather}).ok());
  ASSERT_EQ(whole_.calls.size(), 1u);
  EXPECT_EQ(whole_.calls[0].kind, OperationKind::kAllGather);
}

TEST(InParts, EachNameIsFound) {
  for (const std::string_view name : InParts::names()) EXPECT_NE(InParts::find(name), nullptr);
  EXPECT_EQ(InParts::find("reduce"), nullptr);
}

}  // namespace
}  // namespace paceline::probe
