// Longer than 400 lines because all cases script the same two agents.

#include "launcher/head/head.h"

#include <cerrno>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "launcher/head/job_start.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

// An agent that says what the test wants once it is told to start, and remembers what it was told.
class ScriptedJob final : public AgentChannel {
 public:
  explicit ScriptedJob(EventLoop& loop) : loop_(loop) {}

  void open(Receive receive, Closed closed) override {
    receive_ = std::move(receive);
    closed_ = std::move(closed);
  }
  Status send(const messages::ToAgent& message) override {
    if (message.has_stop()) stops.push_back(message.stop().signal());
    if (message.has_rank_ended()) ended.push_back(message.rank_ended().rank());
    if (message.has_signal()) passed_on.push_back(message.signal().signal());
    if (message.has_stop() && !dies_at_stop) say_later(finished());
    if (message.has_start()) {
      starts.push_back(message.start());
      for (const messages::FromAgent& line : script) say_later(line);
    }
    return Status();
  }
  std::size_t backlog_bytes() const override { return 0; }
  void when_drained(std::function<void()>) override {}
  void set_reading(bool) override {}

  void vanish() { closed_(Status()); }
  void say(const messages::FromAgent& message) { receive_(message); }
  static messages::FromAgent alive() {
    messages::FromAgent message;
    message.mutable_alive();
    return message;
  }
  static messages::FromAgent finished() {
    messages::FromAgent message;
    message.mutable_finished();
    return message;
  }

  std::vector<messages::FromAgent> script;
  std::vector<messages::Start> starts;
  std::vector<int> stops;
  std::vector<int> passed_on;
  std::vector<std::uint32_t> ended;  // ranks whose end this agent was told
  bool dies_at_stop = false;

 private:
  void say_later(const messages::FromAgent& message) {
    loop_.after(Duration::zero(), [this, message] { receive_(message); });
  }

  EventLoop& loop_;
  Receive receive_;
  Closed closed_;
};

messages::FromAgent exited(std::uint32_t rank, int code, std::int64_t time_ns) {
  messages::FromAgent message;
  message.mutable_exited()->set_rank(rank);
  message.mutable_exited()->set_wait_status(code << 8);
  message.mutable_exited()->set_time_ns(time_ns);
  return message;
}

messages::FromAgent wrote(std::uint32_t rank, const std::string& lines) {
  messages::FromAgent message;
  message.mutable_output()->set_rank(rank);
  message.mutable_output()->set_ending(messages::LINES);
  message.mutable_output()->set_text(lines);
  return message;
}

messages::Start part_of(const JobSpec& job, const std::string& host,
                        const std::vector<int>& ranks) {
  messages::Start part = start_of(job);
  part.set_host(host);
  give_ranks(part, ranks);
  for (std::size_t i = 0; job.placement.report_bindings && i < ranks.size(); ++i)
    part.add_seats()->set_cpus(std::to_string(i));
  return part;
}

class HeadTest : public ::testing::Test {
 protected:
  BindingReport::Options bindings() {
    return {.says_all = true, .say = [this](const std::string& text) { console_.say(text); }};
  }
  int run(int ranks, JobSpec job = {}) {
    job.programs.resize(1);
    job.programs[0].ranks = ranks;
    job.programs[0].command = {"program"};
    std::vector<int> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    Head head(loop_, console_, timings_, job,
              {{.channel = agent_, .start = part_of(job, "h", all)}}, bindings());
    head_ = &head;
    loop_.after(std::chrono::seconds(20), [this] { loop_.stop(); });
    return head.run();
  }
  // Two ranks on host a, one on host b.
  int run_on_two(JobSpec job = {}) {
    job.programs.resize(1);
    job.programs[0].ranks = 3;
    job.programs[0].command = {"program"};
    Head head(loop_, console_, timings_, job,
              {{.channel = agent_, .start = part_of(job, "a", {0, 1})},
               {.channel = other_, .start = part_of(job, "b", {2})}},
              bindings());
    head_ = &head;
    loop_.after(std::chrono::seconds(20), [this] { loop_.stop(); });
    return head.run();
  }
  // At this moment, by a clock that is `ahead` of the head's.
  messages::FromAgent ready(std::chrono::nanoseconds ahead) const {
    messages::FromAgent message;
    message.mutable_ready()->mutable_meeting()->set_store("tcp:10.0.0.1:4000");
    message.mutable_ready()->set_time_ns((clock_.now() + ahead).time_since_epoch().count());
    return message;
  }
  static std::string text(const Pipe& pipe) {
    std::string all(65536, '\0');
    const ssize_t got = ::read(pipe.read_end.get(), all.data(), all.size());
    all.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return all;
  }

  SystemClock clock_;
  Timings timings_{clock_.now()};
  EventLoop loop_{clock_};
  Pipe output_ = *make_pipe();
  Pipe error_ = *make_pipe();
  ScriptedJob agent_{loop_};
  ScriptedJob other_{loop_};
  Console console_{loop_, output_.write_end.get(), error_.write_end.get()};
  Head* head_ = nullptr;
};

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

TEST_F(HeadTest, TimeoutBeginsAtOnce) {
  JobSpec job;
  job.timeout = std::chrono::milliseconds(2);
  EXPECT_EQ(run(1, job), kExitTimeout);
  EXPECT_NE(text(error_).find("--timeout of 0.002 s; ending 1 rank\n"), std::string::npos);
}

}  // namespace
}  // namespace paceline::launcher
