#include "collectives/failure_judge.h"

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/requests.h"
#include "tests/harness/collecting_log.h"
#include "tests/unit/collectives/communicator_fakes.h"

namespace paceline::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Told = FakeTransport::Told;

class FailureJudgeTest : public ::testing::Test {
 protected:
  void begin(std::size_t count = 1) {
    queue_.enter(nullptr, sum(count));
    ASSERT_TRUE(queue_.begin().ok());
    judge_.note_begin();
  }
  OperationRequest sum(std::size_t count) {
    return requests::all_reduce(values_.data(), values_.data(), count, DataType::kFloat32);
  }
  std::optional<Status> verdict() { return judge_.verdict(fake_.engine->clock().now()); }
  // The account of a rank that has called the same, but for the last count.
  Account account_with(std::size_t last_count) {
    Account account = queue_.account();
    account.recent.back().count = last_count;
    return account;
  }
  void tell(int peer, MessageKind kind, const Account& account) {
    judge_.told(peer, kind, encode_account(account));
  }

  FakeParts fake_;
  FakeTransport& transport_ = *fake_.transport;
  FakeBackend& backend_ = *fake_.backend;
  OperationQueue queue_{fake_.parts};
  FailureJudge judge_{fake_.parts, queue_};
  std::array<float, 16> values_{};
};

TEST_F(FailureJudgeTest, ANoticeIsTheErrorAndTheFirstOneCounts) {
  EXPECT_TRUE(judge_.is_quiet());
  judge_.told(1, MessageKind::kNotice,
              encode_notice(Status(Code::kPeerLost, Scope::kGroup, "first", {.rank = 2})));
  judge_.told(2, MessageKind::kNotice,
              encode_notice(Status(Code::kCancelled, Scope::kGroup, "second")));
  EXPECT_FALSE(judge_.is_quiet());
  const auto why = verdict();
  ASSERT_TRUE(why);
  EXPECT_EQ(why->text(), "first");
  EXPECT_EQ(why->culprit().rank, 2);
  judge_.conclude(*why);
  EXPECT_FALSE(verdict()) << "there is a final error";
  EXPECT_TRUE(judge_.is_quiet());
}

TEST_F(FailureJudgeTest, BytesThatAreNoMessageBlameTheirSender) {
  const Bytes garbage(3, std::byte{0xFF});
  judge_.told(2, MessageKind::kAnswer, garbage);
  const auto why = verdict();
  ASSERT_TRUE(why);
  EXPECT_EQ(why->culprit().rank, 2);
  EXPECT_EQ(why->culprit().host, "node2");
}

TEST_F(FailureJudgeTest, AQuestionIsAnsweredAndAnotherCallIsADisagreement) {
  begin();
  tell(1, MessageKind::kInquiry, queue_.account());
  EXPECT_FALSE(verdict());
  EXPECT_EQ(transport_.take_told(), (std::vector<Told>{{1, MessageKind::kAnswer}}));
  tell(2, MessageKind::kAnswer, account_with(5));
  const auto why = verdict();
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code(), Code::kMismatch);
  EXPECT_EQ(why->culprit().rank, 2);
  EXPECT_NE(why->text().find("rank 2 on node2 called all_reduce(5 x float32, sum) #0 where rank 0"),
            std::string::npos)
      << why->text();
}

TEST_F(FailureJudgeTest, WhoAsksAfterTheErrorGetsTheLastMessage) {
  begin();
  tell(1, MessageKind::kInquiry, account_with(5));
  tell(2, MessageKind::kInquiry, queue_.account());
  const auto why = verdict();
  ASSERT_TRUE(why);
  judge_.conclude(*why);
  EXPECT_FALSE(judge_.is_quiet());
  EXPECT_EQ(judge_.take_inquirers(), std::vector<int>{2});
  EXPECT_TRUE(judge_.is_quiet());
}

TEST_F(FailureJudgeTest, AnEarlyMessageIsComparedWhenThisRankHasBegun) {
  Signature theirs = sum(5).signature;
  judge_.waits(1, theirs);
  EXPECT_FALSE(verdict());
  begin();
  const auto why = verdict();
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code(), Code::kMismatch);
  EXPECT_EQ(why->culprit().rank, 1);
}

TEST_F(FailureJudgeTest, ALostPeerWaitsForABetterAccountOfIt) {
  begin();
  backend_.has_ended = true;
  backend_.how = Status(Code::kPeerLost, Scope::kGroup, "reset", {.rank = 1});
  EXPECT_FALSE(verdict());
  EXPECT_EQ(judge_.wake_at(), fake_.engine->clock().now() + milliseconds(200));
  fake_.engine->pass(milliseconds(100));
  EXPECT_FALSE(verdict());
  fake_.engine->pass(milliseconds(100));
  const auto own = verdict();
  ASSERT_TRUE(own);
  EXPECT_EQ(own->text(), "reset");
  judge_.told(2, MessageKind::kNotice,
              encode_notice(Status(Code::kCancelled, Scope::kGroup, "rank 1 was cancelled")));
  const auto better = verdict();
  ASSERT_TRUE(better);
  EXPECT_EQ(better->text(), "rank 1 was cancelled");
}

TEST_F(FailureJudgeTest, AMessageOfAnOperationThatHasNotBegunHereAsksItsSender) {
  begin();
  Signature theirs = queue_.current().signature();
  theirs.sequence = 1;
  backend_.has_ended = true;
  backend_.how = Status(Code::kMismatch, Scope::kGroup, "another message");
  backend_.disagreed = Disagreement{.peer = 2, .theirs = theirs};
  EXPECT_FALSE(verdict());
  EXPECT_EQ(transport_.take_told(), (std::vector<Told>{{2, MessageKind::kInquiry}}));
  fake_.engine->pass(kAnswerPatience);
  const auto why = verdict();
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code(), Code::kMismatch);
  EXPECT_EQ(why->culprit().rank, 2);
}

// An operation that rank 1 holds up, or that rank 2 holds up by way of rank 1.
class Stall {
 public:
  Stall() {
    fake_.parts.log = log_;
    fake_.parts.timeout = seconds(60);
    queue_.emplace(fake_.parts);
    judge_.emplace(fake_.parts, *queue_);
    queue_->enter(nullptr, requests::barrier());
    if (queue_->begin().ok()) judge_->note_begin();
    fake_.backend->waits_for = {1};
  }

  std::optional<Status> look_after(Duration time) {
    fake_.engine->pass(time);
    return judge_->verdict(fake_.engine->clock().now());
  }
  std::vector<Told> take_told() { return fake_.transport->take_told(); }
  void rank_1_waits_for_2() {
    Account stuck = queue_->account();
    stuck.awaited = {2};
    judge_->told(1, MessageKind::kAnswer, encode_account(stuck));
  }
  Duration duration() const { return fake_.engine->clock().now() - *queue_->current().called_at; }
  std::size_t reports() const { return log_->count("has made no progress for 30 s"); }

 private:
  const std::shared_ptr<CollectingLog> log_ = std::make_shared<CollectingLog>();
  FakeParts fake_;
  std::optional<OperationQueue> queue_;
  std::optional<FailureJudge> judge_;
};

TEST(FailureJudgeStall, QuestionsFollowTheChainAndItsEndIsNamed) {
  Stall stall;
  EXPECT_FALSE(stall.look_after(milliseconds(200)));
  EXPECT_EQ(stall.take_told(), (std::vector<Told>{{1, MessageKind::kInquiry}}));
  stall.rank_1_waits_for_2();
  EXPECT_FALSE(stall.look_after({}));
  EXPECT_EQ(stall.take_told(), (std::vector<Told>{{2, MessageKind::kInquiry}}));
  std::optional<Status> why;
  while (stall.duration() < seconds(60) && !why) {
    why = stall.look_after(milliseconds(100));
    for (const Told& told : stall.take_told())
      if (told == Told{1, MessageKind::kInquiry}) stall.rank_1_waits_for_2();
  }
  ASSERT_TRUE(why);
  EXPECT_EQ(stall.duration(), seconds(60));
  EXPECT_EQ(why->code(), Code::kTimeout);
  EXPECT_EQ(why->culprit().rank, 2);
  EXPECT_NE(why->text().find("rank 2 on node2 does not answer"), std::string::npos) << why->text();
  EXPECT_EQ(stall.reports(), 0U) << "rank 1 reports it";
}

TEST(FailureJudgeStall, TheRankNextToTheCulpritReportsIt) {
  Stall stall;
  std::optional<Status> why;
  while (stall.duration() < seconds(60) && !why) why = stall.look_after(milliseconds(100));
  ASSERT_TRUE(why);
  EXPECT_EQ(why->culprit().rank, 1);
  EXPECT_EQ(stall.reports(), 1U);
}

TEST_F(FailureJudgeTest, ProgressPutsQuestionsOff) {
  begin();
  backend_.waits_for = {1};
  for (int i = 0; i < 10; ++i) {
    fake_.engine->pass(milliseconds(150));
    judge_.note_progress(fake_.engine->clock().now());
    EXPECT_FALSE(verdict());
  }
  EXPECT_TRUE(transport_.take_told().empty());
}

// Rank 0 judges. Another rank tells that it has lost rank 0.
TEST_F(FailureJudgeTest, ANoticeOfItsOwnLossNamesTheRankThatItHasLost) {
  const Bytes notice = encode_notice(Status(Code::kPeerLost, Scope::kGroup, "reset", {.rank = 0}));
  transport_.losses[2] = Status(Code::kPeerLost, Scope::kGroup, "reset", {.rank = 2});
  judge_.told(1, MessageKind::kNotice, notice);
  const auto why = verdict();
  ASSERT_TRUE(why);
  EXPECT_EQ(why->culprit().rank, 2);
}

TEST_F(FailureJudgeTest, ANoticeOfItsOwnLossStandsIfItHasLostNobody) {
  const Bytes notice = encode_notice(Status(Code::kPeerLost, Scope::kGroup, "reset", {.rank = 0}));
  judge_.told(1, MessageKind::kNotice, notice);
  const auto why = verdict();
  ASSERT_TRUE(why);
  EXPECT_EQ(why->culprit().rank, 0);
}

}  // namespace
}  // namespace paceline::testing
