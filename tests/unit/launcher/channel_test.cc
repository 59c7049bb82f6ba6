// What the head and its agents may expect of a channel, whatever carries it: one suite, and a row
// for each kind.
#include "launcher/channel/channel.h"

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "launcher/system/system.h"
#include "tests/unit/launcher/remote_pair.h"

namespace paceline::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kMebibyte = std::size_t{1} << 20;

struct Ends {
  std::unique_ptr<TestHead> head;  // of the kind that needs one
  std::unique_ptr<AgentChannel> head_end;
  std::unique_ptr<HeadChannel> agent_end;
};

Ends join_by_socket(EventLoop& head, EventLoop& agent) {
  auto sockets = make_socket_pair().value();
  return {.head = nullptr,
          .head_end = std::make_unique<SocketChannel<messages::ToAgent, messages::FromAgent>>(
              head, std::move(sockets.first), "agent"),
          .agent_end = std::make_unique<SocketChannel<messages::FromAgent, messages::ToAgent>>(
              agent, std::move(sockets.second), "head")};
}

Ends join_by_grpc(EventLoop& head, EventLoop& agent) {
  Ends ends;
  ends.head = std::make_unique<TestHead>(head);
  ends.agent_end = ends.head->dial(agent).value();
  ends.head_end = std::move(ends.head->agent);
  return ends;
}

struct Kind {
  const char* name;
  Ends (*join)(EventLoop& head, EventLoop& agent);
};

messages::FromAgent output(std::string text) {
  messages::FromAgent message;
  message.mutable_output()->set_text(std::move(text));
  return message;
}

messages::ToAgent signal(int number) {
  messages::ToAgent message;
  message.mutable_signal()->set_signal(number);
  return message;
}

class ChannelTest : public ::testing::TestWithParam<Kind> {
 protected:
  ChannelTest() : ends_(GetParam().join(head_loop_, agent_loop_)) {
    ends_.head_end->open(
        [this](const messages::FromAgent& message) { heard_.push_back(message.output().text()); },
        [this](const Status& why) { head_closed_ = why; });
    ends_.agent_end->open(
        [this](const messages::ToAgent& message) { signals_.push_back(message.signal().signal()); },
        [this](const Status& why) { agent_closed_ = why; });
  }
  // The agent's end waits for a head that reads.
  ~ChannelTest() override {
    ends_.head_end.reset();
    ends_.agent_end.reset();
  }

  static void run(EventLoop& loop) {
    loop.after(milliseconds(1), [&loop] { loop.stop(); });
    ASSERT_TRUE(loop.run().ok());
  }
  // Both loops in turn.
  template <class Condition>
  bool come(Condition condition, seconds patience = seconds(20)) {
    const Deadline deadline = Deadline::after(clock_, patience);
    while (!condition() && !deadline.passed(clock_.now())) {
      run(head_loop_);
      run(agent_loop_);
    }
    return condition();
  }
  // The agent's end goes while the head's loop runs.
  void end_agent() {
    std::thread leaving([this] { ends_.agent_end.reset(); });
    const Deadline deadline = Deadline::after(clock_, seconds(20));
    while (!head_closed_ && !deadline.passed(clock_.now())) run(head_loop_);
    leaving.join();
  }

  const SystemClock clock_;
  EventLoop head_loop_{clock_};
  EventLoop agent_loop_{clock_};
  Ends ends_;
  std::vector<std::string> heard_;
  std::vector<int> signals_;
  std::optional<Status> head_closed_;
  std::optional<Status> agent_closed_;
};

TEST_P(ChannelTest, KeepsTheOrderBothWays) {
  for (const char* text : {"one", "", "three"})
    ASSERT_TRUE(ends_.agent_end->send(output(text)).ok());
  for (int i = 1; i <= 100; ++i) ASSERT_TRUE(ends_.head_end->send(signal(i)).ok());
  EXPECT_TRUE(come([this] { return heard_.size() == 3 && signals_.size() == 100; }));
  EXPECT_EQ(heard_, (std::vector<std::string>{"one", "", "three"}));
  EXPECT_EQ(signals_.front(), 1);
  EXPECT_EQ(signals_.back(), 100);
}

TEST_P(ChannelTest, QueuesWhatIsNotTakenAndTellsWhenThatHasGone) {
  const std::string large(3 * kMebibyte, 'x');
  bool drained = false;
  ends_.agent_end->when_drained([&] { drained = true; });
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(ends_.agent_end->send(output(large)).ok());
  EXPECT_GT(ends_.agent_end->backlog_bytes(), large.size());
  EXPECT_TRUE(come([&] { return heard_.size() == 3 && drained; }));
  EXPECT_EQ(ends_.agent_end->backlog_bytes(), 0u);
  EXPECT_EQ(heard_.back(), large);
}

TEST_P(ChannelTest, RefusesWhatNoFrameHolds) {
  const Status status = ends_.agent_end->send(output(std::string(kMaxFrameBytes, 'x')));
  EXPECT_EQ(status.code(), Code::kExhausted);
  ASSERT_TRUE(ends_.agent_end->send(output("short")).ok());
  EXPECT_TRUE(come([this] { return heard_.size() == 1; }));
}

TEST_P(ChannelTest, AStoppedReaderStopsTheSender) {
  ends_.head_end->set_reading(false);
  constexpr std::size_t kMessages = 64;
  for (std::size_t i = 0; i < kMessages; ++i)
    ASSERT_TRUE(ends_.agent_end->send(output(std::string(kMebibyte / 8, 'x'))).ok());
  EXPECT_FALSE(come([this] { return !heard_.empty(); }, seconds(1)));
  // What is under way is in bounds: the rest waits where it was sent.
  EXPECT_GT(ends_.agent_end->backlog_bytes(), 6 * kMebibyte);
  ends_.head_end->set_reading(true);
  EXPECT_TRUE(come([this] { return heard_.size() == kMessages; }));
}

TEST_P(ChannelTest, TheHeadHearsLastWordsAndThatTheAgentHasGone) {
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(ends_.agent_end->send(output("last words")).ok());
  ASSERT_TRUE(come([this] { return ends_.agent_end->backlog_bytes() == 0; }));
  end_agent();
  EXPECT_EQ(heard_.size(), 10u);
  ASSERT_TRUE(head_closed_);
  EXPECT_TRUE(head_closed_->ok()) << head_closed_->to_string();
  EXPECT_TRUE(ends_.head_end->send(signal(1)).ok());
}

TEST_P(ChannelTest, TheAgentHearsThatTheHeadHasGone) {
  ASSERT_TRUE(ends_.head_end->send(signal(7)).ok());
  ASSERT_TRUE(come([this] { return signals_.size() == 1; }));
  ends_.head_end.reset();
  EXPECT_TRUE(come([this] { return agent_closed_.has_value(); }));
  EXPECT_TRUE(agent_closed_->ok()) << agent_closed_->to_string();
  EXPECT_TRUE(ends_.agent_end->send(output("nobody hears this")).ok());
}

TEST_P(ChannelTest, WhatIsNoMessageEndsTheConnection) {
  ASSERT_TRUE(ends_.agent_end->send(messages::FromAgent()).ok());
  EXPECT_TRUE(come([this] { return head_closed_ && agent_closed_; }));
  EXPECT_EQ(head_closed_->text(), "agent: sent something that is not a message");
}

INSTANTIATE_TEST_SUITE_P(Kinds, ChannelTest,
                         ::testing::Values(Kind{"socket", join_by_socket},
                                           Kind{"grpc", join_by_grpc}),
                         [](const ::testing::TestParamInfo<Kind>& kind) {
                           return std::string(kind.param.name);
                         });

}  // namespace
}  // namespace paceline::launcher
