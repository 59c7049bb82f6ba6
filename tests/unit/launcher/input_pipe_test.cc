#include "launcher/agent/input_pipe.h"

#include <string>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

class InputPipeTest : public ::testing::Test {
 protected:
  InputPipeTest() {
    pipe_ = *InputPipe::make(
        loop_,
        [this](std::size_t bytes, bool closed) {
          taken_ += bytes;
          closed_ |= closed;
        },
        read_end_);
    ::fcntl(read_end_.get(), F_SETFL, O_NONBLOCK);
    ::fcntl(read_end_.get(), F_SETPIPE_SZ, 4096);
  }
  // What is there now; "end" where the input has ended.
  std::string read() {
    std::string all(1 << 16, '\0');
    const ssize_t got = ::read(read_end_.get(), all.data(), all.size());
    if (got == 0) return "end";
    all.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return all;
  }
  // Until the pipe has taken what it can.
  void run() {
    loop_.after(std::chrono::milliseconds(5), [this] { loop_.stop(); });
    ASSERT_TRUE(loop_.run().ok());
  }

  SystemClock clock_;
  EventLoop loop_{clock_};
  UniqueFd read_end_;
  std::size_t taken_ = 0;
  bool closed_ = false;
  std::unique_ptr<InputPipe> pipe_;
};

TEST_F(InputPipeTest, PassesOnWhatComesAndItsEnd) {
  pipe_->write("some ");
  pipe_->write("words");
  EXPECT_EQ(taken_, 10u);
  EXPECT_EQ(read(), "some words");
  pipe_->end();
  EXPECT_EQ(read(), "end");
}

TEST_F(InputPipeTest, WhatTheRankHasNotReadWaitsAndIsNotTaken) {
  const std::string text(10'000, 'x');
  pipe_->write(text);
  pipe_->end();
  EXPECT_LT(taken_, text.size());
  std::string all;
  for (int i = 0; i < 100 && all.size() < text.size(); ++i) {
    all += read();
    run();
  }
  EXPECT_EQ(all, text);
  EXPECT_EQ(taken_, text.size());
  EXPECT_EQ(read(), "end");
}

TEST_F(InputPipeTest, WhereNobodyReadsAnyMoreItSaysSoOnce) {
  ::signal(SIGPIPE, SIG_IGN);
  read_end_.reset();
  pipe_->write("lost");
  EXPECT_TRUE(closed_);
  closed_ = false;
  pipe_->write("more");
  EXPECT_FALSE(closed_);
  EXPECT_EQ(taken_, 0u);
}

}  // namespace
}  // namespace paceline::launcher
