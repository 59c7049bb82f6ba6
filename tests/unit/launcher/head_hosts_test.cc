// Jobs of two hosts.
#include <string>

#include <gtest/gtest.h>
#include <signal.h>

#include "tests/unit/launcher/scripted_head.h"

namespace paceline::launcher {
namespace {

TEST_F(HeadTest, OtherHostsStartWhereTheFirstHasOpenedTheMeeting) {
  agent_.script = {ready({}), wrote(0, "x\n"), exited(0, 0, 1), exited(1, 0, 2),
                   ScriptedJob::finished()};
  other_.script = {ready({}), wrote(2, "y\n"), exited(2, 0, 3), ScriptedJob::finished()};
  EXPECT_EQ(run_on_two(), 0);
  ASSERT_EQ(other_.starts.size(), 1u);
  EXPECT_EQ(other_.starts[0].meeting().store(), "tcp:10.0.0.1:4000");
  EXPECT_EQ(other_.starts[0].ranks(0), 2u);
  EXPECT_EQ(text(output_), "[0@a] x\n[2@b] y\n");
}

TEST_F(HeadTest, WhereTheFirstHostCannotStartTheOthersDoNot) {
  messages::FromAgent failure;
  failure.mutable_failure()->set_text("no store");
  agent_.script = {failure, ScriptedJob::finished()};
  EXPECT_EQ(run_on_two(), kExitLauncher);
  EXPECT_TRUE(other_.starts.empty());
  EXPECT_EQ(text(error_), "paceline: host a: no store\n");
}

TEST_F(HeadTest, TheHostThatIsLostIsNamedAndTheOthersEnd) {
  agent_.script = {ready({})};
  other_.script = {ready({})};
  loop_.after(std::chrono::milliseconds(50), [this] { other_.vanish(); });
  EXPECT_EQ(run_on_two(), kExitLauncher);
  EXPECT_EQ(text(error_), "paceline: host b: the agent is gone; it and rank 2 were killed\n");
  EXPECT_EQ(agent_.stops, (std::vector<int>{SIGKILL}));
}

TEST_F(HeadTest, WhoFailedFirstIsSeenThoughHostsHaveClocksOfTheirOwn) {
  const auto now_ns = [this] { return clock_.now().time_since_epoch().count(); };
  constexpr std::chrono::hours kAhead(5);
  const std::int64_t ahead_ns = std::chrono::nanoseconds(kAhead).count();
  agent_.script = {ready({}), exited(1, 7, now_ns() + 2'000'000'000)};
  other_.script = {ready(kAhead), exited(2, 9, now_ns() + ahead_ns + 1'000'000'000)};
  EXPECT_EQ(run_on_two(), 9) << "rank 2, although its clock says that it was hours later";
}

TEST_F(HeadTest, AnAgentSpeaksOfItsOwnRanksOnly) {
  agent_.script = {ready({}), exited(2, 5, 1), exited(0, 0, 1), exited(1, 0, 2),
                   ScriptedJob::finished()};
  other_.script = {ready({}), exited(2, 0, 1), ScriptedJob::finished()};
  EXPECT_EQ(run_on_two(), 0);
}

TEST_F(HeadTest, AHostThatIsSilentWhenTheJobIsStoppedIsLeftAndNamed) {
  agent_.script = {ready({}), exited(1, 7, 1)};
  other_.script = {ready({})};
  other_.dies_at_stop = true;
  EXPECT_EQ(run_on_two(), 7);
  EXPECT_NE(text(error_).find("host b: the agent has not answered for 10 s"), std::string::npos);
}

TEST_F(HeadTest, AHostThatFallsSilentEndsTheJob) {
  agent_.script = {ready({})};
  other_.script = {ready({})};
  other_.dies_at_stop = true;
  // A message of host a counts only for host a.
  std::function<void()> say = [&] {
    agent_.say(ScriptedJob::alive());
    loop_.after(std::chrono::seconds(1), say);
  };
  loop_.after(std::chrono::seconds(1), say);
  EXPECT_EQ(run_on_two(), kExitLauncher);
  EXPECT_EQ(
      text(error_).find("paceline: host b: the agent has not answered for 10 s: it is stopped"),
      0u);
  EXPECT_EQ(agent_.stops, (std::vector<int>{SIGKILL}));
}

// The rank of host b may wait at the store. The agent of host a serves it even without ranks.
TEST_F(HeadTest, TheHostOfTheStoreIsNeededAfterItsRanksHaveEnded) {
  agent_.script = {ready({}), exited(0, 0, 1), exited(1, 0, 2), ScriptedJob::finished()};
  other_.script = {ready({})};
  loop_.after(std::chrono::milliseconds(50), [this] { agent_.vanish(); });
  EXPECT_EQ(run_on_two(), kExitLauncher);
  EXPECT_EQ(text(error_),
            "paceline: host a: the agent is gone; with it the job has lost its rendezvous store\n");
  EXPECT_EQ(other_.stops, (std::vector<int>{SIGKILL}));
}

TEST_F(HeadTest, TheHostOfTheStoreMayNotFallSilentAfterItsRanksHaveEnded) {
  agent_.script = {ready({}), exited(0, 0, 1), exited(1, 0, 2), ScriptedJob::finished()};
  other_.script = {ready({})};
  JobSpec job;
  job.max_silence = std::chrono::seconds(2);
  std::function<void()> say = [&] {
    other_.say(ScriptedJob::alive());
    loop_.after(std::chrono::seconds(1), say);
  };
  loop_.after(std::chrono::seconds(1), say);
  EXPECT_EQ(run_on_two(job), kExitLauncher);
  EXPECT_EQ(text(error_).find("paceline: host a: the agent has not answered for 2 s"), 0u);
}

TEST_F(HeadTest, AnAgentThatWritesFilesMayBeSilentAsLongAsWritesAreRepeated) {
  agent_.script = {ready({})};
  JobSpec job;
  job.max_silence = std::chrono::seconds(2);
  job.output_directory = "/logs";
  loop_.after(std::chrono::seconds(5), [this] {
    agent_.say(exited(0, 0, 1));
    agent_.say(ScriptedJob::finished());
  });
  EXPECT_EQ(run(1, job), 0) << text(error_);
}

TEST_F(HeadTest, TheHostOfTheStoreHearsOfRanksThatHaveEndedWell) {
  agent_.script = {ready({}), exited(1, 0, 2)};
  other_.script = {ready({}), exited(2, 0, 3)};
  loop_.after(std::chrono::milliseconds(50), [this] { agent_.say(exited(0, 7, 4)); });
  EXPECT_EQ(run_on_two(), 7);
  EXPECT_EQ(agent_.ended, (std::vector<std::uint32_t>{1, 2})) << "and not of one that failed";
  EXPECT_TRUE(other_.ended.empty());
}

// ---- Restarts on other hosts ----------------------------------------------------------------

class LostHostTest : public HeadTest {
 protected:
  // Host b is lost after 50 ms.
  int run_and_lose(int max_restarts) {
    agent_.script = {ready({})};
    other_.script = {ready({})};
    spare_.script = {ready({}), wrote(2, "z\n"), exited(2, 0, 3),
                     of_restart(ScriptedJob::finished())};
    loop_.after(std::chrono::milliseconds(50), [this] {
      agent_.script = {ready({}), exited(0, 0, 1), exited(1, 0, 2), ScriptedJob::finished()};
      for (auto* script : {&agent_.script, &spare_.script})
        for (messages::FromAgent& message : *script) message = of_restart(message);
      other_.vanish();
    });
    JobSpec job;
    job.restarts.max_restarts = max_restarts;
    return run_on_two(job);
  }
  static messages::FromAgent of_restart(messages::FromAgent message) {
    message.set_epoch(1);
    return message;
  }
};

TEST_F(LostHostTest, TheRanksStartAgainOnAnother) {
  const TimePoint begin = clock_.now();
  EXPECT_EQ(run_and_lose(1), 0);
  EXPECT_EQ(lost_, (std::vector<std::string>{"b: the agent is gone; it and rank 2 were killed"}));
  EXPECT_EQ(text(error_),
            "paceline: host b: the agent is gone; it and rank 2 were killed; ending 2 ranks; "
            "restart 1 of 1 in 10 s\n");
  EXPECT_EQ(text(output_), "[2@c] z\n");
  EXPECT_EQ(agent_.stops, (std::vector<int>{SIGTERM}));
  ASSERT_EQ(agent_.starts.size(), 2u);
  EXPECT_EQ(agent_.starts[1].epoch(), 1u);
  ASSERT_EQ(spare_.starts.size(), 1u);
  EXPECT_EQ(spare_.starts[0].epoch(), 1u);
  EXPECT_EQ(spare_.starts[0].meeting().store(), "tcp:10.0.0.1:4000");
  EXPECT_EQ(other_.starts.size(), 1u);
  EXPECT_GE(clock_.now() - begin, JobMachine::kFencing) << "ranks of the lost host may run so long";
}

TEST_F(LostHostTest, WithoutAnotherHostTheJobEnds) {
  finds_hosts_ = false;
  EXPECT_EQ(run_and_lose(1), kExitLauncher);
  EXPECT_NE(text(error_).find("\npaceline: no restart: no host is left\n"), std::string::npos);
  EXPECT_TRUE(spare_.starts.empty());
}

TEST_F(LostHostTest, ASignalEndsTheSearch) {
  loop_.after(std::chrono::seconds(11), [this] { head_->signalled(SIGTERM); });
  EXPECT_EQ(run_and_lose(1), 128 + SIGTERM);
  EXPECT_EQ(lost_.size(), 1u);
  EXPECT_TRUE(spare_.starts.empty());
}

}  // namespace
}  // namespace paceline::launcher
