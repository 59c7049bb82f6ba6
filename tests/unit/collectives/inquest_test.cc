#include "collectives/failure/inquest.h"

#include <vector>

#include <gtest/gtest.h>

namespace paceline {
namespace {

using Cause = Inquest::Cause;

Account stuck_in(std::uint64_t sequence, std::vector<std::int32_t> awaited) {
  return {.begun = sequence + 1,
          .running = true,
          .recent = {{.sequence = sequence}},
          .awaited = std::move(awaited)};
}

Account idle_after(std::uint64_t begun) {
  return {.begun = begun, .recent = {{.sequence = begun - 1}}};
}

// A round of rank 0 about operation 5, for which it waits for `awaited`.
Inquest round_about_5(std::vector<int> awaited) {
  Inquest inquest;
  inquest.begin(0, 5, awaited);
  return inquest;
}

TEST(Inquest, AsksEachOnce) {
  Inquest inquest = round_about_5({1, 2});
  EXPECT_EQ(inquest.take_questions(), (std::vector<int>{1, 2}));
  EXPECT_TRUE(inquest.take_questions().empty());
}

TEST(Inquest, FollowsTheChainToWhoDoesNotAnswer) {
  Inquest inquest = round_about_5({1});
  (void)inquest.take_questions();
  inquest.heard(1, stuck_in(5, {2}), false);
  EXPECT_EQ(inquest.take_questions(), std::vector<int>{2});
  inquest.heard(2, stuck_in(4, {0, 3}), false);
  EXPECT_EQ(inquest.take_questions(), std::vector<int>{3}) << "never itself";
  const auto findings = inquest.findings();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rank, 3);
  EXPECT_EQ(findings[0].cause, Cause::kSilent);
  EXPECT_EQ(inquest.silent(), std::vector<int>{3});
}

TEST(Inquest, WhatWasSaidUnaskedCountsForOneRoundMore) {
  Inquest inquest;
  inquest.heard(1, stuck_in(5, {2}), false);  // before the question could reach it
  inquest.begin(0, 5, std::vector<int>{1});
  EXPECT_EQ(inquest.take_questions(), (std::vector<int>{1, 2}));
  EXPECT_EQ(inquest.silent(), std::vector<int>{2});
  inquest.begin(0, 5, std::vector<int>{1});
  EXPECT_EQ(inquest.silent(), std::vector<int>{1});
}

TEST(Inquest, ARankMayWaitForItsDevice) {
  Inquest inquest = round_about_5({1});
  Account account = idle_after(5);
  account.waits_for_device = true;
  inquest.heard(1, account, false);
  const auto findings = inquest.findings();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].position, "has called it, and waits for its GPU");
}

TEST(Inquest, ARankThatHasNotCalledItIsElsewhere) {
  Inquest inquest = round_about_5({1});
  inquest.heard(1, idle_after(5), false);
  const auto findings = inquest.findings();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].cause, Cause::kElsewhere);
  EXPECT_EQ(findings[0].position, "has not called anything after barrier #4");
}

TEST(Inquest, WhoIsPastItHoldsUpNobody) {
  Inquest inquest = round_about_5({1, 2});
  inquest.heard(1, idle_after(6), false);
  inquest.heard(2, stuck_in(7, {3}), false);
  EXPECT_EQ(inquest.take_questions(), (std::vector<int>{1, 2})) << "3 is not this round's matter";
  EXPECT_TRUE(inquest.findings().empty());
}

TEST(Inquest, ACircleHasNoCulprit) {
  Inquest inquest = round_about_5({1});
  inquest.heard(1, stuck_in(5, {0}), false);
  EXPECT_TRUE(inquest.findings().empty());
}

TEST(Inquest, WhoHasLeftIsNotAskedAgain) {
  Inquest inquest = round_about_5({1});
  inquest.heard(1, idle_after(3), true);
  inquest.begin(0, 5, std::vector<int>{1, 2});
  EXPECT_EQ(inquest.take_questions(), std::vector<int>{2});
  const auto findings = inquest.findings();
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].cause, Cause::kLeft);
  EXPECT_EQ(findings[0].position, "has left after 3 operations");
}

TEST(Inquest, ANewRoundForgetsAnswers) {
  Inquest inquest = round_about_5({1});
  inquest.heard(1, stuck_in(5, {2}), false);
  inquest.begin(0, 5, std::vector<int>{1});
  EXPECT_EQ(inquest.silent(), std::vector<int>{1});
}

TEST(Inquest, WordsOfWhoWasNotAskedChangeNothing) {
  Inquest inquest = round_about_5({1});
  inquest.heard(7, stuck_in(5, {8}), false);
  EXPECT_EQ(inquest.take_questions(), std::vector<int>{1});
  EXPECT_EQ(inquest.silent(), std::vector<int>{1});
}

TEST(Inquest, ALongChainIsCut) {
  Inquest inquest = round_about_5({1});
  for (int rank = 1; rank < 500; ++rank) inquest.heard(rank, stuck_in(5, {rank + 1}), false);
  EXPECT_EQ(inquest.take_questions().size(), Inquest::kMaxAsked);
}

}  // namespace
}  // namespace paceline
