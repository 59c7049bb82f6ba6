#include "launcher/head/input_source.h"

#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include "launcher/system/pseudo_terminal.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

constexpr std::size_t kWindowBytes = std::size_t{64} << 10;

class InputSourceTest : public ::testing::Test {
 protected:
  void feed(std::size_t bytes) {
    const std::string text(bytes, 'x');
    ASSERT_EQ(::write(pipe_.write_end.get(), text.data(), text.size()),
              static_cast<ssize_t>(bytes));
  }
  void run() {
    loop_.after(std::chrono::milliseconds(5), [this] { loop_.stop(); });
    ASSERT_TRUE(loop_.run().ok());
  }

  SystemClock clock_;
  EventLoop loop_{clock_};
  Pipe pipe_ = *make_pipe();
  std::size_t sent_ = 0;
  int ends_ = 0;
  InputSource source_{loop_, pipe_.read_end.get(), [this](const messages::ToAgent& message) {
                        sent_ += message.input().text().size();
                        ends_ += message.input().ends() ? 1 : 0;
                      }};
};

TEST_F(InputSourceTest, SendsWhatIsReadAndItsEndOnce) {
  feed(5);
  run();
  EXPECT_EQ(sent_, 5u);
  EXPECT_EQ(ends_, 0);
  pipe_.write_end.reset();
  run();
  run();
  EXPECT_EQ(ends_, 1);
}

TEST_F(InputSourceTest, NoMoreIsUnderWayThanTheWindow) {
  feed(kWindowBytes);
  run();
  EXPECT_EQ(sent_, kWindowBytes);
  feed(1000);
  run();
  EXPECT_EQ(sent_, kWindowBytes);
  source_.taken(600, false);
  run();
  EXPECT_EQ(sent_, kWindowBytes + 600);
}

TEST_F(InputSourceTest, IsLeftAloneOnceNobodyReads) {
  source_.taken(0, true);
  feed(5);
  run();
  EXPECT_EQ(sent_, 0u);
  EXPECT_EQ(ends_, 0);
}

// A shell restores the modes of a job that it continues, and what is typed then is a line.
TEST(InputSourceOfATerminal, ReadsLinesThatWereTypedBeforeItIsSetUpAgain) {
  const SystemClock clock;
  EventLoop loop(clock);
  PseudoTerminal pair = *open_pseudo_terminal();
  const termios before = *terminal_modes(pair.terminal.get());
  std::string got;
  const InputSource source(loop, pair.terminal.get(), [&](const messages::ToAgent& message) {
    got += message.input().text();
    if (got == "a\n") {
      EXPECT_EQ(::write(pair.controller.get(), "b", 1), 1);
    }
    if (got == "a\nb") loop.stop();
  });
  ASSERT_EQ(::tcsetattr(pair.terminal.get(), TCSANOW, &before), 0);
  ASSERT_EQ(::write(pair.controller.get(), "a\n", 2), 2);
  loop.after(std::chrono::seconds(20), [&] { loop.stop(); });
  ASSERT_TRUE(loop.run().ok());
  EXPECT_EQ(got, "a\nb");
}

// Such a key discards what was typed before it, also what poll() has just found. A read that waits
// would stop the loop then, as its thread blocks the signal.
TEST(InputSourceOfATerminal, IsNotStoppedByAKeyThatSignals) {
  PseudoTerminal pair = *open_pseudo_terminal();
  Pipe calls = *make_pipe(), answers = *make_pipe();
  std::thread thread([&] {
    const SystemClock clock;
    EventLoop loop(clock);
    const InputSource source(loop, pair.terminal.get(), [](const messages::ToAgent&) {});
    loop.when_readable(calls.read_end.get(), [&] {
      char byte = 0;
      if (::read(calls.read_end.get(), &byte, 1) <= 0) return loop.stop();
      EXPECT_EQ(::write(answers.write_end.get(), &byte, 1), 1);
    });
    EXPECT_TRUE(loop.run().ok());
  });
  int answered = 0;
  for (; answered < 20000; ++answered) {
    EXPECT_EQ(::write(pair.controller.get(), "a", 1), 1);
    for (int turn = 0; turn < answered % 8; ++turn) ::sched_yield();
    EXPECT_EQ(::write(pair.controller.get(), "\x1c", 1), 1);
    EXPECT_EQ(::write(calls.write_end.get(), "?", 1), 1);
    pollfd answer{.fd = answers.read_end.get(), .events = POLLIN, .revents = 0};
    char byte = 0;
    if (::poll(&answer, 1, 20000) != 1) break;
    EXPECT_EQ(::read(answers.read_end.get(), &byte, 1), 1);
  }
  EXPECT_EQ(answered, 20000);
  calls.write_end.reset();
  pair.controller.reset();  // ends a read that waits
  thread.join();
}

}  // namespace
}  // namespace paceline::launcher
