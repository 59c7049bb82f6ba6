#include <set>
#include <string>

#include <gtest/gtest.h>

#include <paceline/step_account.h>

#include "comm/base/clock.h"
#include "comm/base/random.h"

namespace paceline {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

class FakeClock final : public Clock {
 public:
  TimePoint now() const override { return now_; }
  void advance(Duration by) { now_ += by; }

 private:
  TimePoint now_{std::chrono::hours(1)};
};

nanoseconds part(const StepSummary& summary, Part part) {
  return summary.parts[static_cast<std::size_t>(part)];
}

class StepAccountTest : public ::testing::Test {
 protected:
  void spend(Part part, Duration time) {
    account_.enter(part);
    clock_.advance(time);
  }

  FakeClock clock_;
  StepAccount account_{clock_};
};

TEST_F(StepAccountTest, NothingHasHappenedAtFirst) {
  clock_.advance(milliseconds(5));
  const StepSummary summary = account_.summary();
  EXPECT_EQ(summary.steps, 0u);
  EXPECT_EQ(summary.wall, nanoseconds(0));
  EXPECT_EQ(summary.sum(), nanoseconds(0));
  EXPECT_EQ(summary.scaling_efficiency_estimate(), 0.0);
  EXPECT_NE(summary.to_string().find("step 0.000 ms"), std::string::npos);
}

TEST_F(StepAccountTest, EachMomentIsChargedToThePartThatWasEntered) {
  clock_.advance(milliseconds(100));  // before the first enter(): nobody's
  spend(Part::kCompute, milliseconds(30));
  spend(Part::kCommunication, milliseconds(10));
  spend(Part::kCompute, milliseconds(5));
  account_.end_step();
  const StepSummary summary = account_.summary();
  EXPECT_EQ(summary.steps, 1u);
  EXPECT_EQ(summary.wall, milliseconds(45));
  EXPECT_EQ(part(summary, Part::kCompute), milliseconds(35));
  EXPECT_EQ(part(summary, Part::kCommunication), milliseconds(10));
  EXPECT_EQ(part(summary, Part::kOther), nanoseconds(0));
}

TEST_F(StepAccountTest, WhatNobodyClaimsBetweenStepsIsOther) {
  spend(Part::kCompute, milliseconds(10));
  account_.end_step();
  clock_.advance(milliseconds(7));
  spend(Part::kCompute, milliseconds(10));
  account_.end_step();
  clock_.advance(milliseconds(1000));  // after the last end_step(): not the account's
  const StepSummary summary = account_.summary();
  EXPECT_EQ(summary.wall, milliseconds(27));
  EXPECT_EQ(part(summary, Part::kOther), milliseconds(7));
  EXPECT_EQ(summary.steps, 2u);
}

TEST_F(StepAccountTest, PartsSumToWallExactlyWhateverTheTimesAre) {
  Random random(1);
  std::uint64_t steps = 0;
  for (int i = 0; i < 10'000; ++i) {
    spend(static_cast<Part>(random.below(kParts)), Duration(random.below(1'000'000'007)));
    if (random.chance(0.7)) continue;
    account_.end_step();
    ++steps;
    const StepSummary summary = account_.summary();
    ASSERT_EQ(summary.sum(), summary.wall);
    ASSERT_EQ(summary.steps, steps);
  }
}

TEST_F(StepAccountTest, TheEstimateIsComputeOverStepTime) {
  spend(Part::kCompute, milliseconds(3));
  spend(Part::kCommunication, milliseconds(1));
  account_.end_step();
  EXPECT_DOUBLE_EQ(account_.summary().scaling_efficiency_estimate(), 0.75);
}

TEST_F(StepAccountTest, ReadsAsMillisecondsPerStepAndCallsTheEstimateOne) {
  for (int step = 0; step < 2; ++step) {
    spend(Part::kCompute, milliseconds(30));
    spend(Part::kCommunication, milliseconds(8));
    spend(Part::kOther, milliseconds(2));
    account_.end_step();
  }
  EXPECT_EQ(account_.summary().to_string(),
            "step 40.000 ms = compute 30.000 + communication 8.000 + other 2.000\n"
            "scaling efficiency 75 % (estimate: compute / step time, no one-rank run)");
}

TEST(StepAccount, GoesByTheSystemsClockWhereNoneIsGiven) {
  StepAccount account;
  account.enter(Part::kCompute);
  account.end_step();
  EXPECT_EQ(account.summary().sum(), account.summary().wall);
  EXPECT_GE(account.summary().wall, nanoseconds(0));
}

TEST(Part, EachHasANameOfItsOwn) {
  std::set<std::string> names;
  for (std::size_t part = 0; part < kParts; ++part) {
    EXPECT_TRUE(names.emplace(name(static_cast<Part>(part))).second);
  }
  EXPECT_EQ(name(static_cast<Part>(kParts)), "unknown part");
}

}  // namespace
}  // namespace paceline
