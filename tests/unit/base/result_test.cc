#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <paceline/status.h>

#include "comm/base/try.h"

namespace paceline {
namespace {

const Status kNoRoom(Code::kExhausted, Scope::kProcess, "no room");

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
  const Result<std::string> result(kNoRoom);
  EXPECT_FALSE(result.ok());
  EXPECT_FALSE(result);
  EXPECT_EQ(result.status().text(), "no room");
  EXPECT_THROW(result.value(), Error);
}

using Owned = std::unique_ptr<int>;

// Not inlined: where it sees through a Result, GCC warns of the error that is not there.
[[gnu::noinline]] Result<Owned> positive(int value) {
  if (value > 0) return std::make_unique<int>(value);
  return kNoRoom;
}

TEST(Result, GivesUpWhatItOwns) {
  Result<Owned> result = positive(5);
  const Owned owned = *std::move(result);
  EXPECT_EQ(*owned, 5);
  EXPECT_EQ(*positive(6).value(), 6);
  EXPECT_THROW(positive(0).value(), Error);
}

Status fail_if(bool wanted, int& reached) {
  PACELINE_TRY(wanted ? kNoRoom : Status());
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

TEST(ResultDeathTest, ASuccessIsNoError) {
  EXPECT_DEATH(Result<int>{Status()}, "a Result needs a value or an error");
}

Result<int> sum(Result<int> left, Result<int> right) {
  PACELINE_TRY_ASSIGN(const int a, std::move(left));
  PACELINE_TRY_ASSIGN(const int b, std::move(right));
  return a + b;
}

TEST(Try, UnpacksValues) {
  EXPECT_EQ(*sum(1, 2), 3);
  EXPECT_EQ(sum(1, kNoRoom).status().text(), "no room");
  EXPECT_EQ(sum(kNoRoom, 2).status().code(), Code::kExhausted);
}

Result<Owned> doubled(int value) {
  PACELINE_TRY_ASSIGN(Owned owned, positive(value));
  *owned *= 2;
  return owned;
}

TEST(Try, MovesWhatCannotBeCopied) {
  EXPECT_EQ(*doubled(9).value(), 18);
  EXPECT_EQ(doubled(-1).status().text(), "no room");
}

}  // namespace
}  // namespace paceline
