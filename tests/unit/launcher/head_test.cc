#include <cerrno>
#include <string>

#include <gtest/gtest.h>
#include <signal.h>

#include "tests/unit/launcher/scripted_head.h"

namespace paceline::launcher {
namespace {

TEST_F(HeadTest, PrintsAndSucceeds) {
  agent_.script = {wrote(1, "hello\n"), exited(0, 0, 1), exited(1, 0, 2), ScriptedJob::finished()};
  EXPECT_EQ(run(2), 0);
  EXPECT_EQ(text(output_), "[1@h] hello\n");
  EXPECT_TRUE(agent_.stops.empty());
}

TEST_F(HeadTest, StopsTheOthersWhenOneFails) {
  agent_.script = {exited(1, 7, 5), exited(0, 9, 4)};
  EXPECT_EQ(run(3), 9) << "rank 0 failed earlier, although its report came later";
  EXPECT_EQ(agent_.stops, (std::vector<int>{SIGTERM}));
  EXPECT_EQ(text(error_),
            "paceline: rank 0 on host h (pid 0) exited with code 9; peak memory 0 KiB; ending 1 "
            "rank\npaceline: other ranks ended: 1 with an error of their own\n");
}

TEST_F(HeadTest, TheRankThatWasBlamedIsNamedOnceItsEndIsKnown) {
  messages::FromAgent victim = exited(1, 1, 5), culprit = exited(0, 3, 6);
  victim.mutable_exited()->set_blamed(0);
  culprit.mutable_exited()->set_peak_memory_kib(20 * 1024);
  culprit.mutable_exited()->set_oom_cgroup("/x");
  agent_.script = {victim, culprit};
  EXPECT_EQ(run(2), 3);
  EXPECT_EQ(
      text(error_).find("paceline: rank 0 on host h (pid 0) exited with code 3 by the kernel's "
                        "OOM killer: out of memory in cgroup /x; peak memory 20 MiB\n"),
      0u)
      << text(error_);
}

TEST_F(HeadTest, ARankThatIsBlamedAndGoesOnIsNotTheCulprit) {
  messages::FromAgent victim = exited(1, 1, 5);
  victim.mutable_exited()->set_blamed(0);
  agent_.script = {victim};
  EXPECT_EQ(run(2), 1);
  EXPECT_NE(text(error_).find("its error names rank 0 as the cause; ending 1 rank\n"),
            std::string::npos);
}

TEST_F(HeadTest, OtherSignalsArePassedOn) {
  loop_.after(std::chrono::milliseconds(1), [this] {
    head_->signalled(SIGUSR1);
    head_->signalled(SIGCONT);
    head_->signalled(SIGINT);
  });
  EXPECT_EQ(run(1), 130);
  EXPECT_EQ(agent_.passed_on, (std::vector<int>{SIGUSR1, SIGCONT}));
}

TEST_F(HeadTest, ReportsOfRanksThatAreNotThereChangeNothing) {
  agent_.script = {wrote(2, "who?\n"), exited(99, 3, 1), exited(0, 0, 1), exited(1, 0, 2),
                   ScriptedJob::finished()};
  EXPECT_EQ(run(2), 0);
}

TEST_F(HeadTest, ALostAgentIsTheLaunchersFault) {
  loop_.after(std::chrono::milliseconds(1), [this] { agent_.vanish(); });
  EXPECT_EQ(run(2), kExitLauncher);
  EXPECT_NE(text(error_).find("host h: the agent is gone"), std::string::npos);
}

TEST_F(HeadTest, ProgramsThatAreNotThere) {
  messages::FromAgent refused;
  refused.mutable_refused()->set_error(ENOENT);
  refused.mutable_refused()->set_text("there is no program");
  agent_.script = {refused, refused};
  EXPECT_EQ(run(2), kExitNotFound);
  EXPECT_EQ(text(error_), "paceline: host h: there is no program\n");
}

TEST_F(HeadTest, ASecondSignalKills) {
  agent_.dies_at_stop = true;
  loop_.after(std::chrono::milliseconds(1), [this] {
    head_->signalled(SIGINT);
    loop_.after(std::chrono::milliseconds(250), [this] {
      head_->signalled(SIGINT);
      agent_.vanish();
    });
  });
  EXPECT_EQ(run(1), 130);
  EXPECT_EQ(agent_.stops, (std::vector<int>{SIGINT, SIGKILL}));
}

messages::FromAgent asked_to_end(int signal) {
  messages::FromAgent message;
  message.mutable_asked_to_end()->set_signal(signal);
  return message;
}

TEST_F(HeadTest, AnAgentThatIsAskedToEndEndsTheWholeJob) {
  agent_.script = {ready({}), exited(0, 0, 1), exited(1, 0, 2)};
  other_.script = {ready({}), asked_to_end(SIGTERM)};
  EXPECT_EQ(run_on_two(), 128 + SIGTERM) << "rank 2 has not ended well";
  EXPECT_EQ(agent_.stops, (std::vector<int>{SIGTERM}));
  EXPECT_EQ(text(error_), "paceline: host b: the agent received SIGTERM; ending 1 rank\n");
}

TEST_F(HeadTest, AJobThatIsAskedToEndSucceedsWhereEachRankDoes) {
  agent_.script = {asked_to_end(SIGTERM), exited(0, 0, 1), exited(1, 0, 2)};
  EXPECT_EQ(run(2), 0);
}

TEST_F(HeadTest, TheSignalThatAnAgentWasAskedByDecidesTheExitCode) {
  agent_.script = {asked_to_end(SIGINT)};
  EXPECT_EQ(run(1), 128 + SIGINT);
  EXPECT_EQ(agent_.stops, (std::vector<int>{SIGINT}));
}

TEST_F(HeadTest, ASignalThatNoAgentHeedsIsTakenForSigterm) {
  agent_.script = {asked_to_end(-7)};
  EXPECT_EQ(run(1), 128 + SIGTERM);
  EXPECT_EQ(agent_.stops, (std::vector<int>{SIGTERM}));
}

// A resource manager signals the head, too, before or after the agents.
TEST_F(HeadTest, AgentsAndHeadThatAreAskedToEndLeaveTheRanksTheirGrace) {
  for (const int signal : {SIGTERM, SIGHUP, SIGINT}) {
    agent_.stops.clear();
    agent_.dies_at_stop = true;
    agent_.script = {asked_to_end(signal), asked_to_end(signal)};
    loop_.after(std::chrono::milliseconds(5), [this, signal] {
      head_->signalled(signal);
      agent_.vanish();
    });
    EXPECT_EQ(run(1), 128 + signal);
    EXPECT_EQ(agent_.stops, (std::vector<int>{signal}));
  }
}

TEST_F(HeadTest, ATerminationAfterARankHasFailedLeavesTheOthersTheirGrace) {
  agent_.dies_at_stop = true;
  agent_.script = {exited(0, 7, 1)};
  loop_.after(std::chrono::milliseconds(100), [this] {
    head_->signalled(SIGTERM);
    agent_.vanish();
  });
  EXPECT_EQ(run(2), 7);
  EXPECT_EQ(agent_.stops, (std::vector<int>{SIGTERM}));
}

TEST_F(HeadTest, TimeoutBeginsAtOnce) {
  JobSpec job;
  job.timeout = std::chrono::milliseconds(2);
  EXPECT_EQ(run(1, job), kExitTimeout);
  EXPECT_NE(text(error_).find("--timeout of 0.002 s; ending 1 rank\n"), std::string::npos);
}

}  // namespace
}  // namespace paceline::launcher
