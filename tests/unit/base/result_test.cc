#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <paceline/status.h>

#include "comm/base/try.h"

namespace paceline {
namespace {

const Status kFailure(Code::kExhausted, Scope::kProcess, "no room");

TEST(Result, HoldsAValue) {
  const Result<std::string> result(std::string("here"));
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result);
  EXPECT_TRUE(result.status().ok());
  EXPECT_EQ(*result, "here");
  EXPECT_EQ(result->size(), 4u);
  EXPECT_EQ(result.value(), "here");
}

TEST(Result, OrSaysWhyThereIsNone) {
  const Result<std::string> result(kFailure);
  EXPECT_FALSE(result.ok());
  EXPECT_FALSE(result);
  EXPECT_EQ(result.status().text(), "no room");
  EXPECT_THROW(result.value(), Error);
}

TEST(Result, GivesUpWhatItOwns) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(5));
  const std::unique_ptr<int> owned = *std::move(result);
  EXPECT_EQ(*owned, 5);
  EXPECT_EQ(*Result<std::unique_ptr<int>>(std::make_unique<int>(6)).value(), 6);
}

Status fail_if(bool wanted, int& reached) {
  PACELINE_TRY(wanted ? kFailure : Status());
  ++reached;
  return {};
}

TEST(Try, LeavesWithTheErrorAndGoesOnWithoutOne) {
  int reached = 0;
  EXPECT_TRUE(fail_if(false, reached).ok());
  EXPECT_EQ(reached, 1);
  EXPECT_EQ(fail_if(true, reached).text(), "no room");
  EXPECT_EQ(reached, 1);
}

Result<int> sum(Result<int> left, Result<int> right) {
  PACELINE_TRY_ASSIGN(const int a, std::move(left));
  PACELINE_TRY_ASSIGN(const int b, std::move(right));
  return a + b;
}

TEST(Try, UnpacksValues) {
  EXPECT_EQ(*sum(1, 2), 3);
  EXPECT_EQ(sum(1, kFailure).status().text(), "no room");
  EXPECT_EQ(sum(kFailure, 2).status().code(), Code::kExhausted);
}

Result<std::unique_ptr<int>> pass_on(std::unique_ptr<int> owned) {
  PACELINE_TRY_ASSIGN(auto same, Result<std::unique_ptr<int>>(std::move(owned)));
  return same;
}

TEST(Try, MovesWhatCannotBeCopied) { EXPECT_EQ(**pass_on(std::make_unique<int>(9)), 9); }

}  // namespace
}  // namespace paceline
