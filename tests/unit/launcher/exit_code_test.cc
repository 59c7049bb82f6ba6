#include "launcher/job/exit_code.h"

#include <cerrno>

#include <gtest/gtest.h>
#include <signal.h>

namespace paceline::launcher {
namespace {

constexpr int exit_status(int code) { return code << 8; }
constexpr int killed(int signal) { return signal; }

JobOutcome outcome(std::vector<RankEnd> ends, std::optional<StopCause> cause = std::nullopt) {
  JobOutcome outcome{.ranks = 2, .cause = cause, .ends = std::move(ends)};
  if (const RankEnd* culprit = root_cause(outcome.ends)) outcome.culprit = *culprit;
  return outcome;
}

TEST(ExitCode, AllSucceeded) {
  EXPECT_EQ(exit_code(outcome({{0, exit_status(0), 5}, {1, exit_status(0), 4}})), 0);
}

TEST(ExitCode, TheFirstFailureInTimeCounts) {
  EXPECT_EQ(
      exit_code(outcome({{0, exit_status(3), 5}, {1, killed(SIGSEGV), 4}}, StopCause::kRankFailed)),
      128 + SIGSEGV);
  EXPECT_EQ(
      exit_code(outcome({{1, exit_status(3), 5}, {0, killed(SIGTERM), 6}}, StopCause::kRankFailed)),
      3);
  EXPECT_EQ(
      exit_code(outcome({{1, exit_status(7), 5}, {0, exit_status(8), 5}}, StopCause::kRankFailed)),
      8)
      << "at the same moment the lower rank counts";
}

TEST(RootCause, TheBlamedOneIsTheCauseIfItHasFailed) {
  const RankEnd victim{.rank = 0, .wait_status = exit_status(1), .time_ns = 5, .blamed = 2};
  const RankEnd go_between{.rank = 2, .wait_status = exit_status(1), .time_ns = 6, .blamed = 1};
  const RankEnd culprit{.rank = 1, .wait_status = killed(SIGKILL), .time_ns = 7};
  EXPECT_EQ(root_cause({victim, go_between, culprit})->rank, 1);
  EXPECT_EQ(root_cause({victim, culprit})->rank, 0) << "the blamed one has not ended";
  const RankEnd left{.rank = 2, .wait_status = exit_status(0), .time_ns = 4};
  EXPECT_EQ(root_cause({victim, left})->rank, 0) << "the blamed one has done well";
  EXPECT_EQ(root_cause({left}), nullptr);
}

TEST(RootCause, OfRanksThatBlameEachOtherTheFirstCounts) {
  const RankEnd first{.rank = 1, .wait_status = exit_status(1), .time_ns = 5, .blamed = 0};
  const RankEnd second{.rank = 0, .wait_status = exit_status(2), .time_ns = 6, .blamed = 1};
  EXPECT_EQ(root_cause({second, first})->rank, 1);
  const RankEnd itself{.rank = 3, .wait_status = exit_status(2), .time_ns = 6, .blamed = 3};
  EXPECT_EQ(root_cause({itself})->rank, 3);
  const RankEnd outsider{.rank = 2, .wait_status = exit_status(3), .time_ns = 1, .blamed = 1};
  EXPECT_EQ(root_cause({outsider, first, second})->rank, 2);
}

TEST(ExitCode, Causes) {
  const std::vector<RankEnd> ends{{0, killed(SIGTERM), 1}, {1, exit_status(0), 2}};
  EXPECT_EQ(exit_code(outcome(ends, StopCause::kTimeout)), 124);
  EXPECT_EQ(exit_code(outcome(ends, StopCause::kInterrupt)), 130);
  EXPECT_EQ(exit_code(outcome(ends, StopCause::kTerminate)), 143);
  EXPECT_EQ(exit_code(outcome(ends, StopCause::kHangUp)), 129);
  EXPECT_EQ(exit_code(outcome(ends, StopCause::kOutputClosed)), 141);
  EXPECT_EQ(exit_code(outcome(ends, StopCause::kLauncher)), 125);
}

TEST(ExitCode, ATerminatedJobMaySucceed) {
  EXPECT_EQ(
      exit_code(outcome({{0, exit_status(0), 1}, {1, exit_status(0), 2}}, StopCause::kTerminate)),
      0);
  EXPECT_EQ(exit_code(outcome({{0, exit_status(0), 1}}, StopCause::kTerminate)), 143)
      << "one rank's end is not known";
  EXPECT_EQ(
      exit_code(outcome({{0, exit_status(0), 1}, {1, exit_status(0), 2}}, StopCause::kInterrupt)),
      130);
}

TEST(ExitCode, ProgramsThatCannotBeExecuted) {
  JobOutcome refused = outcome({}, StopCause::kRefused);
  refused.refused_errno = ENOENT;
  EXPECT_EQ(exit_code(refused), 127);
  refused.refused_errno = EACCES;
  EXPECT_EQ(exit_code(refused), 126);
}

TEST(ExitCode, InWords) {
  EXPECT_EQ(describe(exit_status(3)), "exited with code 3");
  EXPECT_EQ(describe(killed(SIGKILL)), "was killed by signal 9 (Killed)");
  EXPECT_EQ(describe(killed(SIGSEGV) | 0x80),
            "was killed by signal 11 (Segmentation fault, core dumped)");
  EXPECT_EQ(exit_code_of(killed(SIGKILL)), 137);
}

}  // namespace
}  // namespace paceline::launcher
