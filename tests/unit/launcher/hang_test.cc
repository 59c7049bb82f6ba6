#include "launcher/control/hang.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

namespace v1 = job::v1;
using Lines = std::vector<std::string>;
using Ranks = std::vector<std::uint32_t>;

constexpr std::uint64_t kWorld = 1, kOther = 2;
constexpr std::uint32_t kRanks = 4;

class HangTest : public ::testing::Test {
 protected:
  HangTest() {
    v1::Host& host = *job_.add_hosts();
    host.set_name("h1");
    host.set_seconds_since_heard(1);
    for (std::uint32_t i = 0; i < kRanks; ++i) {
      v1::Rank& rank = *job_.add_ranks();
      rank.mutable_member()->set_role("worker");
      rank.mutable_member()->set_index(i);
      rank.set_host("h1");
      rank.set_state(v1::Rank::STATE_RUNNING);
    }
  }

  v1::Rank& rank(int number) { return *job_.mutable_ranks(number); }

  // The operation `number`, of which all before it have begun.
  v1::Operation& in(int number, const std::string& name, std::uint64_t sequence, double seconds = 5,
                    std::uint64_t group = kWorld) {
    v1::Operation& operation = *rank(number).add_communicators();
    operation.set_name(name + " #" + std::to_string(sequence));
    operation.set_group(group);
    operation.set_sequence(sequence);
    operation.set_collective(true);
    operation.set_running(true);
    operation.set_seconds(seconds);
    operation.set_rank_count(group == kWorld ? kRanks : 2);
    operation.set_calls(sequence + 1);
    *rank(number).mutable_operation() = operation;
    return operation;
  }

  v1::Operation& after(int number, const std::string& name, std::uint64_t sequence,
                       std::uint64_t group = kWorld) {
    v1::Operation& operation = in(number, name, sequence, 5, group);
    operation.set_running(false);
    *rank(number).mutable_operation() = operation;
    return operation;
  }

  void message(int number, const std::string& kind, std::uint32_t peer) {
    v1::Operation& operation = in(number, kind + "(" + std::to_string(peer) + ")", 3);
    operation.set_collective(false);
    operation.set_peer(peer);
    operation.set_calls(3);
  }

  void fail(int number) {
    rank(number).mutable_communicators(0)->set_failed(true);
    rank(number).mutable_communicators(0)->set_running(false);
  }

  v1::Process& process(int number, const std::string& state) {
    v1::Process& process = *rank(number).add_processes();
    process.add_threads()->set_state(state);
    return process;
  }

  std::vector<std::string> lines() const { return explain_hang(job_).lines; }
  std::vector<std::uint32_t> suspects() const { return explain_hang(job_).suspects; }

  v1::Snapshot job_;
};

TEST_F(HangTest, ShortWaitsAreNone) {
  for (int i = 0; i < 3; ++i) in(i, "barrier", 7, 1.9);
  after(3, "barrier", 6);
  EXPECT_TRUE(lines().empty());
  EXPECT_TRUE(suspects().empty());
}

TEST_F(HangTest, NamesTheRankThatHasNotCalledTheOperation) {
  for (int i = 0; i < 3; ++i) in(i, "barrier", 7);
  after(3, "barrier", 6);
  EXPECT_EQ(lines(), (Lines{"3 ranks wait in barrier #7 for 5.0 s; worker 3 has not called it",
                            "worker 3: its last operation is barrier #6, ended 5.0 s ago"}));
  EXPECT_EQ(suspects(), (Ranks{3}));
}

// A message carries the number of the collective operation that comes next.
TEST_F(HangTest, RanksThatSentMessagesSinceTheOperationAreNotLate) {
  in(0, "barrier", 7);
  v1::Operation& sent = after(1, "send to 2", 8);
  sent.set_collective(false);
  sent.set_calls(8);
  v1::Operation& before = after(2, "send to 1", 7);
  before.set_collective(false);
  before.set_calls(7);
  after(3, "barrier", 7);
  EXPECT_EQ(lines()[0], "1 rank waits in barrier #7 for 5.0 s; worker 2 has not called it");
}

// It may have no flight ring, behind a program that closes descriptors.
TEST_F(HangTest, ARankOfWhichNothingIsKnownIsNotNamed) {
  for (int i = 0; i < 3; ++i) in(i, "barrier", 0);
  const Lines expected{"3 ranks wait in barrier #0 for 5.0 s; nothing is known of 1 more rank"};
  EXPECT_EQ(lines(), expected);
}

TEST_F(HangTest, ARankThatHasCalledNothingOfACommunicatorOfAllRanksIsLate) {
  for (int i = 0; i < 3; ++i) in(i, "barrier of b", 0, 5, kOther).set_rank_count(kRanks);
  after(3, "barrier", 6);
  EXPECT_EQ(lines()[0], "3 ranks wait in barrier of b #0 for 5.0 s; worker 3 has not called it");
  for (std::uint64_t group = 10; group < 25; ++group) after(3, "barrier of c", 6, group);
  EXPECT_EQ(lines()[0],
            "3 ranks wait in barrier of b #0 for 5.0 s; nothing is known of 1 more "
            "rank")
      << "it has more communicators than it reports";
}

TEST_F(HangTest, NamesManyLateRanksByTheirNumber) {
  in(0, "barrier", 7);
  for (int i = 0; i < 6; ++i) *job_.add_ranks() = rank(3);
  for (int i = 1; i < 10; ++i) after(i, "barrier", 6).set_rank_count(10);
  rank(0).mutable_communicators(0)->set_rank_count(10);
  EXPECT_EQ(lines()[0],
            "1 rank waits in barrier #7 for 5.0 s; worker 1, worker 2, worker 3, worker 3 and 5 "
            "more have not called it");
}

TEST_F(HangTest, SaysWhatTheLateRankDoes) {
  for (int i = 0; i < 3; ++i) in(i, "barrier", 7);
  after(3, "barrier", 6);
  v1::Process& late = process(3, "running");
  late.mutable_threads(0)->add_frames("clock_gettime (libc.so.6)");
  late.mutable_threads(0)->add_frames("spin() at spin.cc:3 (train)");
  EXPECT_EQ(lines()[1], "worker 3: it is in spin() at spin.cc:3 (train)");
  late.mutable_threads(0)->set_state("sleeping");
  late.set_waits_for("write to descriptor 1, a pipe");
  EXPECT_EQ(lines()[1],
            "worker 3: it waits: write to descriptor 1, a pipe, in spin() at spin.cc:3 (train)");
  late.add_python("Thread 0x00007f (most recent call first):");
  late.add_python("  File \"train.py\", line 3 in loop");
  EXPECT_EQ(lines()[1], "worker 3: it is in File \"train.py\", line 3 in loop");
  late.mutable_threads(0)->set_state("stopped");
  EXPECT_EQ(lines()[1], "worker 3: it is stopped by a signal");
  job_.mutable_hosts(0)->set_seconds_since_heard(8);
  EXPECT_EQ(lines()[1], "worker 3: its host h1 has been silent for 8.0 s");
  rank(3).set_state(v1::Rank::STATE_ENDED);
  rank(3).set_end("exited with code 0");
  EXPECT_EQ(lines()[1], "worker 3: it has ended: exited with code 0");
  EXPECT_TRUE(suspects().empty()) << "it has no stack";
}

TEST_F(HangTest, SaysWhichRankIsStoppedInTheOperation) {
  for (int i = 0; i < 4; ++i) in(i, "barrier", 7);
  EXPECT_EQ(suspects(), (Ranks{0, 1, 2, 3}));
  process(2, "stopped");
  EXPECT_EQ(lines(), (Lines{"4 ranks wait in barrier #7 for 5.0 s; all its ranks have called it",
                            "worker 2: it is stopped by a signal"}));
}

TEST_F(HangTest, SaysWhichLinkDoesNotDeliver) {
  for (int i = 0; i < 4; ++i) in(i, "barrier", 7);
  v1::Link& link = *job_.mutable_performance()->add_links();
  link.set_from("h1");
  link.set_to("h2");
  link.set_unanswered_seconds(8);
  EXPECT_EQ(lines()[1],
            "data from h1 to h2 has had no acknowledgement for 8.0 s: the link does "
            "not deliver it");
  for (int i = 0; i < 4; ++i) rank(i).clear_communicators();
  EXPECT_TRUE(lines().empty()) << "no rank waits for it";
}

TEST_F(HangTest, NamesTheRankThatCalledAnotherOperation) {
  for (int i = 0; i < 3; ++i) in(i, "all_reduce", 7).set_failed(true);
  in(3, "barrier", 7).set_failed(true);
  for (int i = 0; i < 4; ++i) rank(i).mutable_communicators(0)->set_running(false);
  EXPECT_EQ(lines(), (Lines{"all_reduce #7 has failed on 3 ranks",
                            "worker 3 has called barrier #7 instead"}));
  EXPECT_EQ(suspects(), (Ranks{3}));
}

TEST_F(HangTest, AFailureOnWhichAllAgreeIsNoHang) {
  for (int i = 0; i < 4; ++i) {
    in(i, "all_reduce", 7).set_failed(true);
    rank(i).mutable_communicators(0)->set_running(false);
  }
  EXPECT_TRUE(lines().empty());
}

TEST_F(HangTest, CausesComeBeforeConsequences) {
  in(0, "barrier of b", 4, 9, kOther);
  after(1, "barrier of b", 3, kOther);
  for (const int i : {1, 2}) in(i, "barrier", 7);
  after(3, "barrier", 6);
  after(0, "barrier", 7);
  EXPECT_EQ(lines(), (Lines{"2 ranks wait in barrier #7 for 5.0 s; worker 3 has not called it",
                            "worker 3: its last operation is barrier #6, ended 5.0 s ago",
                            "1 rank waits in barrier of b #4 for 9.0 s; worker 1 has not "
                            "called it",
                            "worker 1: it waits in barrier #7"}));
  EXPECT_EQ(suspects(), (Ranks{3}));
}

TEST_F(HangTest, NamesCallsInDifferentOrders) {
  in(0, "barrier of a", 4, 5, kOther);
  after(0, "barrier of b", 3, kOther + 1);
  in(1, "barrier of b", 4, 5, kOther + 1);
  after(1, "barrier of a", 3, kOther);
  const std::vector<std::string> said = lines();
  EXPECT_EQ(said.back(),
            "the ranks wait for each other: they called operations of different "
            "communicators in different orders");
  EXPECT_EQ(said[said.size() - 2],
            "worker 0 waits in barrier of a #4, so that it cannot call barrier of b #4");
  EXPECT_EQ(suspects(), (Ranks{0, 1}));
}

TEST_F(HangTest, NamesMessagesThatMayWaitForEachOther) {
  message(0, "receive", 1);
  message(1, "receive", 0);
  const std::vector<std::string> said = lines();
  EXPECT_EQ(said[0],
            "1 rank waits in receive(1) #3 for 5.0 s on worker 0; the other end is worker "
            "1");
  EXPECT_EQ(said.back(), "the ranks may wait for each other");
  EXPECT_EQ(suspects(), (Ranks{0, 1}));
}

TEST_F(HangTest, BothEndsOfAMessageAreNoCycle) {
  message(0, "receive", 1);
  message(1, "send", 0);
  process(1, "stopped");
  const Lines expected{
      "1 rank waits in receive(1) #3 for 5.0 s on worker 0; the other end waits in it too",
      "1 rank waits in send(0) #3 for 5.0 s on worker 1; the other end waits in it too",
      "worker 1: it is stopped by a signal"};
  EXPECT_EQ(lines(), expected);
  EXPECT_EQ(suspects(), (Ranks{0, 1}));
}

TEST_F(HangTest, SaysThatNothingIsKnownOfARankOfACommunicator) {
  in(0, "barrier of b", 0, 5, kOther);
  const Lines expected{
      "1 rank waits in barrier of b #0 for 5.0 s; nothing is known of 1 more "
      "rank"};
  EXPECT_EQ(lines(), expected);
}

TEST_F(HangTest, SaysOnWhichRanksTheOperationHasFailed) {
  for (int i = 0; i < 4; ++i) in(i, "barrier", 7);
  fail(2);
  const Lines expected{
      "3 ranks wait in barrier #7 for 5.0 s; all its ranks have called it; it has "
      "failed on worker 2"};
  EXPECT_EQ(lines(), expected);
}

TEST_F(HangTest, OldFailuresAreNoHang) {
  for (int i = 0; i < 4; ++i) in(i, i < 3 ? "all_reduce" : "barrier", 7);
  for (int i = 0; i < 4; ++i) fail(i);
  for (int i = 0; i < 4; ++i) after(i, "barrier", 0, kOther);
  EXPECT_TRUE(lines().empty());
}

TEST_F(HangTest, WithoutAMajorityNobodyIsBlamed) {
  for (int i = 0; i < 4; ++i) in(i, i < 2 ? "all_reduce" : "barrier", 7);
  for (int i = 0; i < 4; ++i) fail(i);
  const Lines expected{"ranks have called different operations with the number 7",
                       "worker 0 has called all_reduce #7", "worker 1 has called all_reduce #7",
                       "worker 2 has called barrier #7", "worker 3 has called barrier #7"};
  EXPECT_EQ(lines(), expected);
  EXPECT_EQ(suspects(), (Ranks{0, 1, 2, 3}));
}

TEST_F(HangTest, OfThreadsInPythonTheInterruptedOneCounts) {
  for (int i = 0; i < 3; ++i) in(i, "barrier", 7);
  after(3, "barrier", 6);
  v1::Process& late = process(3, "running");
  late.add_python("Thread 0x00007f (most recent call first):");
  late.add_python("  File \"threading.py\", line 327 in wait");
  late.add_python("");
  late.add_python("Thread 0x00007e (most recent call first):");
  late.add_python("  File \"train.py\", line 3 in loop");
  EXPECT_EQ(lines()[1], "worker 3: it is in File \"train.py\", line 3 in loop")
      << "the main thread is the last one";
  late.set_python(0, "Current thread 0x00007f (most recent call first):");
  EXPECT_EQ(lines()[1], "worker 3: it is in File \"threading.py\", line 327 in wait");
}

TEST_F(HangTest, AShellIsNotWhatTheRankDoes) {
  for (int i = 0; i < 3; ++i) in(i, "barrier", 7);
  after(3, "barrier", 6);
  process(3, "sleeping").set_waits_for("the end of a child process");
  EXPECT_EQ(lines()[1], "worker 3: it waits: the end of a child process");
  process(3, "stopped");
  EXPECT_EQ(lines()[1], "worker 3: it is stopped by a signal");
}

TEST_F(HangTest, SaysThatNobodyReadsTheOutput) {
  job_.set_output_blocked_seconds(1);
  EXPECT_TRUE(lines().empty());
  job_.set_output_blocked_seconds(7);
  const Lines expected{
      "nobody has read the output of `paceline run` for 7.0 s: ranks that write "
      "wait, and their hosts are not heard"};
  EXPECT_EQ(lines(), expected);
}

TEST_F(HangTest, NonsenseIsNotBelieved) {
  message(0, "receive", 1000);
  message(1, "receive", 1);
  in(2, "", 0, 1e30).set_rank_count(0);
  job_.mutable_ranks(2)->set_host("nowhere");
  EXPECT_FALSE(lines().empty());
}

TEST_F(HangTest, SaysSoMuchAndNoMore) {
  for (std::uint64_t group = 10; group < 30; ++group) in(0, "barrier", 1, 5, group);
  EXPECT_EQ(lines().back(), "ranks wait in 14 more operations");
}

}  // namespace
}  // namespace paceline::launcher
