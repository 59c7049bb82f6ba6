// Requests for stacks with agents that answer, are silent, or leave.
#include "launcher/head/stack_requests.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/launcher/small_job.h"

namespace paceline::launcher {
namespace {

using std::chrono::seconds;

// Its time passes where nothing else happens.
class PassingClock final : public Clock {
 public:
  TimePoint now() const override { return now_; }
  void pass_to(TimePoint moment) { now_ = std::max(now_, moment); }

 private:
  TimePoint now_{std::chrono::hours(1)};
};

class StackRequestsTest : public ::testing::Test {
 protected:
  StackRequestsTest() {
    job_.started(0, 0, 100);
    job_.started(0, 1, 101);
    job_.started(1, 2, 102);
  }
  void take(const std::vector<std::uint32_t>& ranks) {
    requests_.take(ranks, [this](const Result<StacksByRank>& taken) { taken_.push_back(taken); });
  }
  void answer(std::size_t host, std::int64_t number, const std::vector<std::uint32_t>& ranks) {
    AgentSaid said{.host = host, .message = {}};
    messages::StacksTaken& taken = *said.message.mutable_stacks_taken();
    taken.set_number(number);
    for (const std::uint32_t rank : ranks) {
      messages::RankStacks& stacks = *taken.add_ranks();
      stacks.set_rank(rank);
      job::v1::Process process;
      process.set_pid(static_cast<int>(100 + rank));
      process.add_threads()->add_frames("spin");
      stacks.add_processes(process.SerializeAsString());
    }
    job_.handle(said);
  }
  std::string failure_of(std::uint32_t rank) const {
    return taken_.at(0).value().at(rank).at(0).failure();
  }
  void let_pass(Duration time) {
    loop_.after(time, [this] { loop_.stop(); });
    ASSERT_TRUE(loop_.run().ok());
  }

  PassingClock clock_;
  EventLoop loop_{clock_, [this](TimePoint next) { clock_.pass_to(next); }};
  std::vector<std::pair<std::size_t, messages::TakeStacks>> asked_;
  bool has_agents_ = true;
  bool has_job_ = true;
  std::vector<Result<StacksByRank>> taken_;
  StackRequests requests_{loop_,
                          {.state = [this] { return has_job_ ? &job_.state() : nullptr; },
                           .send =
                               [this](std::size_t host, const messages::ToAgent& message) {
                                 asked_.emplace_back(host, message.take_stacks());
                                 return has_agents_;
                               }}};
  SmallJob job_{&requests_};
};

TEST_F(StackRequestsTest, IsAnsweredWhenAllAgentsHaveAnswered) {
  take({2, 0, 1, 0});
  ASSERT_EQ(asked_.size(), 2U);
  EXPECT_EQ(asked_[0].second.ranks_size(), 2);
  EXPECT_EQ(asked_[1].second.ranks(0), 2U);
  const std::int64_t number = asked_[0].second.number();
  answer(0, number, {0, 1, 2});  // rank 2 is not of this host
  EXPECT_TRUE(taken_.empty());
  answer(0, number, {0, 1});
  answer(1, number + 1, {2});
  EXPECT_TRUE(taken_.empty());
  answer(1, number, {2});
  ASSERT_EQ(taken_.size(), 1U);
  const StacksByRank& stacks = taken_[0].value();
  ASSERT_EQ(stacks.size(), 3U);
  for (const std::uint32_t rank : {0U, 1U, 2U}) {
    EXPECT_EQ(stacks.at(rank).at(0).pid(), static_cast<int>(100 + rank));
    EXPECT_EQ(stacks.at(rank).at(0).threads(0).frames(0), "spin");
  }
  let_pass(seconds(6));
  EXPECT_EQ(taken_.size(), 1U);
}

TEST_F(StackRequestsTest, ASilentAgentIsNamed) {
  take({1, 2});
  answer(0, asked_[0].second.number(), {1});
  let_pass(seconds(4));
  EXPECT_TRUE(taken_.empty());
  let_pass(seconds(2));
  ASSERT_EQ(taken_.size(), 1U);
  EXPECT_EQ(failure_of(1), "");
  EXPECT_EQ(failure_of(2), "host b: the agent has not answered within 5 s");
  answer(1, asked_[0].second.number(), {2});
  EXPECT_EQ(taken_.size(), 1U);
}

TEST_F(StackRequestsTest, AnAgentThatLeavesIsNotWaitedFor) {
  take({2});
  job_.handle(AgentLost{.host = 1, .why = Status()});
  ASSERT_EQ(taken_.size(), 1U);
  EXPECT_EQ(failure_of(2), "host b: the connection to its agent has ended");
}

TEST_F(StackRequestsTest, ARankThatTheAgentLeavesOutHasAReason) {
  take({0, 1});
  answer(0, asked_[0].second.number(), {1});
  ASSERT_EQ(taken_.size(), 1U);
  EXPECT_NE(failure_of(0), "");
}

TEST_F(StackRequestsTest, RanksThatDoNotRunAreAnsweredAtOnce) {
  job_.ended(0, 0, 0);
  take({0});
  ASSERT_EQ(taken_.size(), 1U);
  EXPECT_EQ(failure_of(0), "the rank has ended");
  EXPECT_TRUE(asked_.empty());
  has_agents_ = false;
  taken_.clear();
  take({1});
  ASSERT_EQ(taken_.size(), 1U);
  EXPECT_EQ(failure_of(1), "host a: it has no agent now");
}

TEST_F(StackRequestsTest, BeforeAllHostsAreThereNoRankHasStarted) {
  has_job_ = false;
  take({7});
  ASSERT_EQ(taken_.size(), 1U);
  EXPECT_EQ(failure_of(7), "the rank has not started yet");
}

TEST_F(StackRequestsTest, LimitsAreSaidInWords) {
  take({3});
  take(std::vector<std::uint32_t>(17, 0));
  ASSERT_EQ(taken_.size(), 2U);
  EXPECT_EQ(taken_[0].status().text(), "the job has no rank 3; its ranks are 0 to 2");
  EXPECT_EQ(taken_[0].status().code(), Code::kInvalidArgument);
  EXPECT_EQ(taken_[1].status().code(), Code::kInvalidArgument);
  for (std::size_t i = 0; i < StackRequests::kMaxPending; ++i) take({0});
  EXPECT_EQ(taken_.size(), 2U);
  take({0});
  ASSERT_EQ(taken_.size(), 3U);
  EXPECT_EQ(taken_[2].status().code(), Code::kExhausted);
}

TEST(CheckedProcesses, BytesOfAnAgentAreBounded) {
  messages::RankStacks stacks;
  stacks.add_processes("\xff\xff nonsense");
  job::v1::Process process;
  for (int i = 0; i < 40; ++i) process.add_threads();
  for (int i = 0; i < 70; ++i) process.mutable_threads(0)->add_frames("a\tb");
  process.set_waits_for(std::string(5000, 'w'));
  for (int i = 0; i < 5; ++i) stacks.add_processes(process.SerializeAsString());
  const auto checked = checked_processes(stacks);
  ASSERT_EQ(checked.size(), 4U);
  EXPECT_NE(checked[0].failure(), "");
  EXPECT_EQ(checked[1].threads_size(), 32);
  EXPECT_EQ(checked[1].threads(0).frames_size(), 64);
  EXPECT_EQ(checked[1].threads(0).frames(0), "a?b");
  EXPECT_LE(checked[1].waits_for().size(), 1024U);
}

}  // namespace
}  // namespace paceline::launcher
