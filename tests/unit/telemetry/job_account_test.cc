#include "telemetry/job/job_account.h"

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "telemetry/job/closing_lines.h"

namespace paceline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kBegin{seconds(100)};

RankReading reading_of(int steps, Duration compute, Duration exposed, Duration input) {
  RankReading reading;
  reading.steps.steps = static_cast<std::uint64_t>(steps);
  reading.steps.samples = 10 * reading.steps.steps;
  reading.steps.wall = compute + exposed + input;
  reading.steps.parts = {compute, exposed, input, Duration(0)};
  reading.begin_ns = kBegin.time_since_epoch().count();
  reading.end_ns = (kBegin + reading.steps.wall).time_since_epoch().count();
  reading.joined = kBegin;
  reading.until = kBegin + reading.steps.wall;
  return reading;
}

struct Times {
  Duration called, ended, exposed;
};

RankSamples sample_of(const Times& times, std::uint64_t sequence = 0,
                      OperationKind kind = OperationKind::kAllReduce, bool is_root = false,
                      int ranks = 3) {
  const auto at = [](Duration after) { return (kBegin + after).time_since_epoch().count(); };
  return {.group = 1,
          .size = ranks,
          .weight = 1,
          .samples = {{.sequence = sequence,
                       .kind = kind,
                       .is_root = is_root,
                       .called_ns = at(times.called),
                       .ended_ns = at(times.ended),
                       .exposed_ns = times.exposed.count()}}};
}

TEST(JobAccount, SaysNothingOfAJobThatMeasuresNothing) {
  JobAccount account;
  account.begin(3);
  EXPECT_FALSE(account.summary());
}

TEST(JobAccount, DividesTheTimeOfSteps) {
  JobAccount account;
  account.begin(2);
  account.take(0, reading_of(10, seconds(6), seconds(2), seconds(2)));
  account.take(1, reading_of(10, seconds(8), seconds(2), seconds(0)));
  const JobSummary summary = account.summary().value();
  EXPECT_TRUE(summary.has_steps);
  EXPECT_EQ(summary.ranks, 2);
  EXPECT_EQ(summary.steps, 10u);
  EXPECT_DOUBLE_EQ(summary.seconds, 10);
  EXPECT_DOUBLE_EQ(summary.step_seconds(), 1);
  EXPECT_DOUBLE_EQ(summary.samples_per_s, 20);
  EXPECT_DOUBLE_EQ(summary.share(Spent::kCompute), 0.7);
  EXPECT_DOUBLE_EQ(summary.share(Spent::kMoving), 0.2);
  EXPECT_DOUBLE_EQ(summary.share(Spent::kInput), 0.1);
}

TEST(JobAccount, KeepsTheStepsOverTime) {
  JobAccount account;
  account.begin(2);
  for (int second = 1; second <= 4; ++second)
    for (const int rank : {0, 1})
      account.take(rank, reading_of(10 * second, milliseconds(800) * second,
                                    milliseconds(200) * second, seconds(0)));
  const std::vector<StepBlock> blocks = account.summary()->blocks;
  StepBlock sum;
  for (const StepBlock& block : blocks) sum += block;
  EXPECT_GE(blocks.size(), 3u);
  EXPECT_NEAR(sum.steps, 40, 1e-9);
  EXPECT_NEAR(sum.samples, 800, 1e-9);
  EXPECT_NEAR(sum.part(StepPart::kCompute), 3.2, 1e-9);
  EXPECT_NEAR(sum.part(StepPart::kCommunication), 0.8, 1e-9);
  account.begin(2);
  EXPECT_FALSE(account.summary());
}

// Rank 1 comes 80 ms late to an operation that takes 20 ms from then on.
TEST(JobAccount, WaitsAreForTheLastRank) {
  JobAccount account;
  account.begin(3);
  for (const int rank : {0, 1, 2}) {
    const bool is_late = rank == 1;
    const Duration exposed = is_late ? milliseconds(20) : milliseconds(100);
    account.take(rank, reading_of(1, milliseconds(200) - exposed, exposed, Duration(0)));
    account.take(rank, sample_of({.called = milliseconds(is_late ? 180 : 100),
                                  .ended = milliseconds(200),
                                  .exposed = exposed}));
  }
  const JobSummary summary = account.summary().value();
  EXPECT_NEAR(summary.share(Spent::kMoving), 60.0 / 600, 1e-9);
  EXPECT_NEAR(summary.share(Spent::kWaiting), 160.0 / 600, 1e-9);
  ASSERT_EQ(summary.waited_for.size(), 1u);
  EXPECT_EQ(summary.waited_for[0].first, 1);
  EXPECT_NEAR(summary.waited_for[0].second, 160.0 / 600, 1e-9);
}

// The operation ran beside computation, and only its end was waited for: after the late call.
TEST(JobAccount, WhatIsOverlappedIsNotWaitedFor) {
  JobAccount account;
  account.begin(2);
  for (const int rank : {0, 1}) {
    account.take(rank, reading_of(1, milliseconds(190), milliseconds(10), Duration(0)));
    account.take(rank, sample_of({.called = milliseconds(rank == 0 ? 20 : 150),
                                  .ended = milliseconds(200),
                                  .exposed = milliseconds(10)},
                                 0, OperationKind::kAllReduce, false, 2));
  }
  EXPECT_EQ(account.summary()->share(Spent::kWaiting), 0);
}

// Rank 1 loads its data for 5 s before the first step, and the others wait in a barrier. A late
// barrier after the steps does not count either.
TEST(JobAccount, OperationsOutsideOfStepsDoNotDivideThem) {
  JobAccount account;
  account.begin(2);
  const auto take = [&account](std::uint64_t sequence, Duration late_call, Duration end) {
    for (const int rank : {0, 1}) {
      const Duration called = rank == 0 ? end - seconds(5) : late_call;
      account.take(rank, sample_of({.called = called, .ended = end, .exposed = end - called},
                                   sequence, OperationKind::kBarrier, false, 2));
    }
  };
  take(0, milliseconds(-2), milliseconds(-1));
  take(1, seconds(29), seconds(30));
  for (const int rank : {0, 1}) account.take(rank, reading_of(1, seconds(9), seconds(1), {}));
  EXPECT_EQ(account.summary()->share(Spent::kWaiting), 0);
  // One in the steps does, once its step has ended.
  take(2, seconds(9), seconds(10));
  EXPECT_GT(account.summary()->share(Spent::kWaiting), 0);
}

TEST(JobAccount, GroupsOfOneNumberAreNotMixed) {
  JobAccount account;
  account.begin(4);
  for (const int rank : {0, 1, 2, 3}) {
    account.take(rank, reading_of(1, milliseconds(900), milliseconds(100), Duration(0)));
    // Ranks 2 and 3 call theirs 0.5 s after ranks 0 and 1.
    const Duration called = milliseconds(rank < 2 ? 100 : 600);
    RankSamples samples = sample_of(
        {.called = called, .ended = called + milliseconds(100), .exposed = milliseconds(100)}, 0,
        OperationKind::kAllReduce, false, 2);
    samples.group = rank < 2 ? 1 : 2;
    account.take(rank, samples);
  }
  EXPECT_EQ(account.summary()->share(Spent::kWaiting), 0);
}

TEST(JobAccount, ABroadcastWaitsForItsRoot) {
  JobAccount account;
  account.begin(3);
  const std::vector<Times> times{{milliseconds(50), milliseconds(60), milliseconds(10)},
                                 {milliseconds(0), milliseconds(60), milliseconds(60)},
                                 {milliseconds(500), milliseconds(505), milliseconds(5)}};
  for (int rank = 0; rank < 3; ++rank) {
    const Times& its = times[static_cast<std::size_t>(rank)];
    account.take(rank, reading_of(1, seconds(1) - its.exposed, its.exposed, Duration(0)));
    account.take(rank, sample_of(its, 0, OperationKind::kBroadcast, rank == 0));
  }
  const JobSummary summary = account.summary().value();
  ASSERT_EQ(summary.waited_for.size(), 1u);
  EXPECT_EQ(summary.waited_for[0].first, 0);
  EXPECT_NEAR(summary.share(Spent::kWaiting), 0.05 / 3, 1e-9);
}

TEST(JobAccount, ReturnsOperationsThatAllRanksHaveReported) {
  JobAccount account;
  account.begin(2);
  account.take(1, RankTotals{.group = 1, .name = "split #3", .size = 2, .totals = {}});
  const Times early{milliseconds(10), milliseconds(40), milliseconds(30)};
  const Times late{milliseconds(30), milliseconds(40), milliseconds(10)};
  const auto take = [&account](int rank, const Times& times) {
    return account.take(rank, sample_of(times, 8, OperationKind::kAllReduce, false, 2));
  };
  EXPECT_TRUE(take(0, early).empty());
  const std::vector<MatchedOperation> settled = take(1, late);
  ASSERT_EQ(settled.size(), 1u);
  EXPECT_EQ(settled[0].group, "split #3");
  ASSERT_EQ(settled[0].calls.size(), 2u);
  EXPECT_EQ(settled[0].calls[0].waited_for, 1);
  EXPECT_EQ(settled[0].calls[0].waited_ns, Duration(milliseconds(20)).count());
  EXPECT_EQ(settled[0].calls[1].waited_for, -1);
}

TEST(JobAccount, WithoutMarksTheTimeSinceTheMeetingIsDivided) {
  JobAccount account;
  account.begin(2);
  for (const int rank : {0, 1}) {
    RankReading reading;
    reading.exposed = seconds(1);
    reading.joined = kBegin;
    reading.until = kBegin + seconds(4);
    account.take(rank, reading);
  }
  JobSummary summary = account.summary().value();
  EXPECT_FALSE(summary.has_steps);
  EXPECT_DOUBLE_EQ(summary.share(Spent::kMoving), 0.25);
  EXPECT_TRUE(closing_lines(summary, {"a", "a"}, {}).empty());
  summary.seconds = 400;
  const auto lines = closing_lines(summary, {"a", "a"}, {});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0],
            "communication took 25 % of 400.00 s on 2 ranks: moving data 25 %; mark steps "
            "(paceline/steps.h) for more");
}

TEST(JobAccount, MemoryOfOperationsThatOneRankAloneReportsIsBounded) {
  JobAccount account;
  account.begin(2);
  for (std::uint64_t i = 0; i < 100000; ++i)
    account.take(0, sample_of({milliseconds(1), milliseconds(2), milliseconds(1)}, i));
  account.take(0, reading_of(1, seconds(1), seconds(1), Duration(0)));
  EXPECT_EQ(account.summary()->share(Spent::kWaiting), 0);
}

TEST(JobAccount, AnOperationThatIsCompleteLateIsReturned) {
  JobAccount account;
  account.begin(2);
  const auto take = [&account](int rank, std::uint64_t sequence) {
    const Times times{milliseconds(1), milliseconds(2), milliseconds(1)};
    const RankSamples sample = sample_of(times, sequence, OperationKind::kAllReduce, false, 2);
    return account.take(rank, sample).size();
  };
  EXPECT_EQ(take(0, 0), 0u);
  for (std::uint64_t i = 1; i < 10'000; ++i) ASSERT_EQ(take(0, i) + take(1, i), 1u);
  EXPECT_EQ(take(1, 0), 1u);
}

// Groups come and go, and one lives.
TEST(JobAccount, GroupsOfARankAreBounded) {
  constexpr std::uint64_t kGroups = 4 * JobAccount::kMostGroups;
  JobAccount account;
  account.begin(1);
  account.take(0, reading_of(1, seconds(1), seconds(1), Duration(0)));
  const auto take = [&account](std::uint64_t id, std::uint64_t count) {
    account.take(0, RankTotals{.group = id,
                               .name = "g",
                               .size = 2,
                               .totals = {{.kind = OperationKind::kAllReduce,
                                           .count = count,
                                           .bytes = 4 * count,
                                           .time_ns = 3'000'000'000,
                                           .exposed_ns = 1'000'000'000}}});
  };
  for (std::uint64_t id = 1; id <= kGroups; ++id) {
    take(0, id);
    take(id, 1);
  }
  const auto operations = account.summary()->operations;
  ASSERT_EQ(operations.size(), JobAccount::kMostGroups + 1);
  const std::uint64_t folded = kGroups + 1 - JobAccount::kMostGroups;
  EXPECT_EQ(operations.front().group, "others");
  EXPECT_EQ(operations.front().ranks, 0);
  EXPECT_EQ(operations.front().count, folded);
  EXPECT_DOUBLE_EQ(operations.front().exposed_seconds, static_cast<double>(folded));
}

TEST(ClosingLines, RanksWithoutMarksAreSaid) {
  const JobSummary summary{.ranks = 1,
                           .job_ranks = 4,
                           .has_steps = true,
                           .steps = 10,
                           .seconds = 1,
                           .samples_per_s = 3000,
                           .shares = {1}};
  const Baseline one{.samples_per_s = 750, .shares = {1}, .when = ""};
  EXPECT_FALSE(scaling_efficiency(summary, one));
  EXPECT_EQ(closing_lines(summary, {"a", "a", "a", "a"}, one)[0],
            "10 steps of 100.00 ms on 1 rank of 4, 3000 samples/s");
}

TEST(ClosingLines, MfuNeedsOperationsAndThePeak) {
  JobSummary summary{.ranks = 2,
                     .job_ranks = 2,
                     .has_steps = true,
                     .steps = 10,
                     .seconds = 1,
                     .flop_per_s = 250e12,
                     .shares = {1}};
  const auto line = [&summary] { return closing_lines(summary, {"a", "a"}, {})[0]; };
  EXPECT_EQ(line(), "10 steps of 100.00 ms on 2 ranks, 250 TFLOP/s");
  EXPECT_FALSE(summary.mfu());
  summary.peak_flop_per_s = 312e12;
  EXPECT_EQ(line(), "10 steps of 100.00 ms on 2 ranks, 250 TFLOP/s (MFU 40 %)");
  summary.peak_flop_per_s = 312e14;
  EXPECT_EQ(line(), "10 steps of 100.00 ms on 2 ranks, 250 TFLOP/s (MFU 0.4 %)");
  summary.flop_per_s = 0;
  EXPECT_EQ(line(),
            "10 steps of 100.00 ms on 2 ranks, MFU not known: no rank states its operations, as by "
            "end_step(samples, flop)");
}

// The one-rank run spent half of its time on input, too.
TEST(ClosingLines, LossesAddUpToWhatIsLost) {
  const JobSummary summary{.ranks = 2,
                           .job_ranks = 2,
                           .has_steps = true,
                           .steps = 10,
                           .seconds = 1,
                           .samples_per_s = 160,
                           .shares = {0.48, 0, 0.12, 0.4, 0}};
  const Baseline one{.samples_per_s = 100, .shares = {0.5, 0, 0, 0.5, 0}, .when = "then"};
  EXPECT_EQ(closing_lines(summary, {"a", "a"}, one)[1],
            "scaling efficiency 80 % (measured against the one-rank run of then); lost to: "
            "waiting 12 %, slower computation 8 %");
}

TEST(ClosingLines, NameLossesTheLargestFirst) {
  JobSummary summary{.ranks = 4,
                     .job_ranks = 4,
                     .has_steps = true,
                     .steps = 420,
                     .seconds = 4.2,
                     .samples_per_s = 35824,
                     .shares = {0.60, 0.10, 0.20, 0.08, 0.02},
                     .waited_for = {{3, 0.15}, {1, 0.047}, {0, 0.003}}};
  const auto lines = closing_lines(summary, {"h1", "h1", "h2", "h2"}, {});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], "420 steps of 10.00 ms on 4 ranks, 35824 samples/s");
  EXPECT_EQ(lines[1],
            "scaling efficiency 60 % (estimate: compute / step time); lost to: waiting 20 % (15 % "
            "for rank 3 on h2, 5 % for rank 1 on h1), moving data 10 %, input 8 %, other 2 %");
  const auto measured =
      closing_lines(summary, {"h1", "h1", "h1", "h1"},
                    Baseline{.samples_per_s = 10000, .shares = {1}, .when = "2026-11-29 12:30"});
  EXPECT_NE(measured[1].find("scaling efficiency 90 % (measured against the one-rank run of "
                             "2026-11-29 12:30)"),
            std::string::npos);
  EXPECT_EQ(measured[1].find("h2"), std::string::npos);
  const auto slower =
      closing_lines(summary, {"h1", "h1", "h1", "h1"},
                    Baseline{.samples_per_s = 20000, .shares = {1}, .when = "2026-11-29 12:30"});
  EXPECT_NE(slower[1].find("lost to: waiting 20 % (15 % for rank 3, 5 % for rank 1), slower "
                           "computation 15 %, moving data 10 %"),
            std::string::npos);
}

}  // namespace
}  // namespace paceline
