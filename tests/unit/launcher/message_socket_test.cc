#include "launcher/channel/message_socket.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

// Two ends in one loop, and what the second one hears.
class MessageSocketTest : public ::testing::Test {
 protected:
  MessageSocketTest() {
    auto ends = make_socket_pair();
    raw_ = ends->first.get();
    a_.emplace(loop_, std::move(ends->first), "a");
    b_.emplace(loop_, std::move(ends->second), "b");
    a_->open([](std::string_view) { return Status(); }, [](const Status&) {});
    b_->open(
        [this](std::string_view payload) {
          heard_.emplace_back(payload);
          if (heard_.size() == expected_) loop_.stop();
          return answer_;
        },
        [this](const Status& why) {
          closed_ = why;
          loop_.stop();
        });
  }

  void run_until(std::size_t messages) {
    expected_ = messages;
    loop_.after(std::chrono::seconds(20), [this] { FAIL() << "nothing came", loop_.stop(); });
    ASSERT_TRUE(loop_.run().ok());
  }

  SystemClock clock_;
  EventLoop loop_{clock_};
  int raw_ = -1;
  std::optional<MessageSocket> a_;
  std::optional<MessageSocket> b_;
  std::vector<std::string> heard_;
  std::size_t expected_ = 0;
  Status answer_;
  std::optional<Status> closed_;
};

TEST_F(MessageSocketTest, KeepsTheOrder) {
  for (const char* text : {"one", "", "three"}) ASSERT_TRUE(a_->send(text).ok());
  run_until(3);
  EXPECT_EQ(heard_, (std::vector<std::string>{"one", "", "three"}));
}

TEST_F(MessageSocketTest, QueuesWhatTheKernelDoesNotTake) {
  const std::string large(kMaxFrameBytes, 'x');
  bool drained = false;
  a_->when_drained([&] { drained = true; });
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(a_->send(large).ok());
  EXPECT_GT(a_->backlog_bytes(), kMaxFrameBytes);
  run_until(3);
  EXPECT_TRUE(drained);
  EXPECT_EQ(a_->backlog_bytes(), 0u);
  EXPECT_EQ(heard_.back(), large);
}

TEST_F(MessageSocketTest, DescriptorsGoAlong) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd read_end(ends[0]);
  std::vector<UniqueFd> descriptors;
  descriptors.emplace_back(ends[1]);
  ASSERT_TRUE(a_->send("before").ok());
  ASSERT_TRUE(a_->send("with", std::move(descriptors)).ok());
  ASSERT_TRUE(a_->send("after").ok());
  run_until(3);
  const Result<UniqueFd> received = b_->take_descriptor();
  ASSERT_TRUE(received.ok());
  EXPECT_FALSE(b_->take_descriptor().ok());
  ASSERT_EQ(::write(received->get(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(::read(read_end.get(), &byte, 1), 1);
}

TEST_F(MessageSocketTest, AStoppedReaderStopsTheSender) {
  b_->set_reading(false);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(a_->send(std::string(1 << 20, 'x')).ok());
  loop_.after(std::chrono::milliseconds(5), [this] { loop_.stop(); });
  ASSERT_TRUE(loop_.run().ok());
  EXPECT_GT(a_->backlog_bytes(), std::size_t{1} << 20);
  b_->set_reading(true);
  run_until(4);
  EXPECT_EQ(heard_.size(), 4u);
}

TEST_F(MessageSocketTest, TellsThatThePeerHasGone) {
  ASSERT_TRUE(a_->send("last words").ok());
  a_->close();
  run_until(2);
  EXPECT_EQ(heard_.size(), 1u);
  ASSERT_TRUE(closed_);
  EXPECT_TRUE(closed_->ok());
  EXPECT_TRUE(b_->send("nobody hears this").ok());
}

TEST_F(MessageSocketTest, AnImpossibleLengthEndsTheConnection) {
  ASSERT_EQ(::send(raw_, "\xff\xff\xff\x7f", 4, 0), 4);
  run_until(1);
  ASSERT_TRUE(closed_);
  EXPECT_EQ(closed_->code(), Code::kExhausted);
}

TEST_F(MessageSocketTest, AnUnwelcomeMessageEndsTheConnection) {
  answer_ = Status(Code::kInternal, Scope::kPeer, "makes no sense");
  ASSERT_TRUE(a_->send("x").ok());
  run_until(2);
  ASSERT_TRUE(closed_);
  EXPECT_EQ(closed_->text(), "b: makes no sense");
}

}  // namespace
}  // namespace paceline::launcher
