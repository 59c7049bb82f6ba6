#include "comm/base/signature.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

const Signature kAllReduce{.sequence = 12,
                           .count = 1000,
                           .kind = OperationKind::kAllReduce,
                           .type = DataType::kFloat32,
                           .op = ReduceOp::kSum,
                           .plan = 7};
const Signature kBroadcast{.sequence = 3,
                           .count = 0,
                           .root = 2,
                           .kind = OperationKind::kBroadcast,
                           .type = DataType::kInt64};

// What `mine` and a changed copy of it differ in.
template <class Change>
std::string after(const Signature& mine, Change change) {
  Signature theirs = mine;
  change(theirs);
  return difference(mine, theirs);
}

TEST(Signature, ReadsAsACall) {
  EXPECT_EQ(kAllReduce.to_string(), "all_reduce(1000 x float32, sum) #12");
  EXPECT_EQ(kBroadcast.to_string(), "broadcast(0 x int64, root 2) #3");
  EXPECT_EQ((Signature{.sequence = 4, .kind = OperationKind::kBarrier}).to_string(), "barrier #4");
  Signature message{.sequence = 5, .count = 9, .root = 3, .kind = OperationKind::kSend};
  EXPECT_EQ(message.to_string(), "send(9 x float32 to 3) before #5");
  message.kind = OperationKind::kReceive;
  EXPECT_EQ(message.to_string(), "receive(9 x float32 from 3) before #5");
  message.kind = OperationKind::kExchange;
  EXPECT_EQ(message.to_string(), "exchange(9 messages) before #5");
}

TEST(Signature, EqualOnesDoNotDiffer) {
  EXPECT_EQ(difference(kAllReduce, kAllReduce), "");
  EXPECT_EQ(difference({}, {}), "");
}

TEST(Signature, EachFieldThatDiffersIsNamed) {
  EXPECT_EQ(after(kAllReduce, [](Signature& s) { s.count = 20; }), "count 1000 against 20");
  EXPECT_EQ(after(kAllReduce, [](Signature& s) { s.type = DataType::kInt32; }),
            "type float32 against int32");
  EXPECT_EQ(after(kAllReduce, [](Signature& s) { s.op = ReduceOp::kMax; }), "op sum against max");
  EXPECT_EQ(after(kBroadcast, [](Signature& s) { s.root = 0; }), "root 2 against 0");
  EXPECT_EQ(after(kAllReduce, [](Signature& s) { s.sequence = 13; }), "number 12 against 13");
}

TEST(Signature, SeveralDifferencesStandInOneLine) {
  const auto change = [](Signature& s) {
    s.count = 1;
    s.type = DataType::kFloat64;
    s.op = ReduceOp::kMin;
    s.plan = 8;  // follows from the others
  };
  EXPECT_EQ(after(kAllReduce, change),
            "count 1000 against 1, type float32 against float64, op sum against min");
}

// A count of one kind against the count of another is no news.
TEST(Signature, AnotherKindIsTheWholeDifference) {
  EXPECT_EQ(difference(kAllReduce, kBroadcast),
            "kind all_reduce against broadcast, number 12 against 3");
}

TEST(Signature, AnotherPlanAloneBlamesTheSettings) {
  const std::string text = after(kAllReduce, [](Signature& s) { s.plan = 8; });
  EXPECT_NE(text.find("PACELINE_ALGORITHM"), std::string::npos) << text;
  EXPECT_NE(text.find("PACELINE_SHM_METHOD"), std::string::npos) << text;
  EXPECT_NE(text.find("PACELINE_SEGMENT_BYTES"), std::string::npos) << text;
}

TEST(Signature, WhateverDiffersHasWords) {
  const auto differs = [](auto change) { return !after(kBroadcast, change).empty(); };
  EXPECT_TRUE(differs([](Signature& s) { s.kind = OperationKind::kBarrier; }));
  EXPECT_TRUE(differs([](Signature& s) { s.root = -1; }));
  EXPECT_TRUE(differs([](Signature& s) { s.op = ReduceOp::kMin; }));
  EXPECT_TRUE(differs([](Signature& s) { s.plan = 1; }));
}

}  // namespace
}  // namespace paceline
