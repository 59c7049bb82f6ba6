#include "launcher/head/console.h"

#include <cerrno>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

class ConsoleTest : public ::testing::Test {
 protected:
  ConsoleTest() {
    ::signal(SIGPIPE, SIG_IGN);
    loop_.after(std::chrono::seconds(20), [this] { loop_.stop(); });
  }

  static std::string text(const Pipe& pipe) {
    ::fcntl(pipe.read_end.get(), F_SETFL, O_NONBLOCK);
    std::string all(1 << 16, '\0');
    const ssize_t got = ::read(pipe.read_end.get(), all.data(), all.size());
    all.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return all;
  }
  void write_all(Console& console) {
    console.when_drained([this] { loop_.stop(); });
    if (console.backlog_bytes() == 0) return;
    ASSERT_TRUE(loop_.run().ok());
  }

  SystemClock clock_;
  EventLoop loop_{clock_};
  Pipe output_ = *make_pipe();
  Pipe error_ = *make_pipe();
};

TEST_F(ConsoleTest, StreamsGoTheirOwnWays) {
  Console console(loop_, output_.write_end.get(), error_.write_end.get());
  console.print(messages::STANDARD_OUTPUT, "[0@h] ", "out\n", messages::LINES);
  console.print(messages::STANDARD_ERROR, "[0@h] ", "err\n", messages::LINES);
  console.say("something");
  write_all(console);
  EXPECT_EQ(text(output_), "[0@h] out\n");
  EXPECT_EQ(text(error_), "[0@h] err\npaceline: something\n");
}

TEST_F(ConsoleTest, OneFileIsOneQueue) {
  const UniqueFd copy(::dup(output_.write_end.get()));
  Console console(loop_, output_.write_end.get(), copy.get());
  std::string expected;
  for (int i = 0; i < 200; ++i) {
    const std::string line = std::string(300, 'x') + std::to_string(i) + '\n';
    const bool odd = i % 2 == 1;
    console.print(odd ? messages::STANDARD_ERROR : messages::STANDARD_OUTPUT, "", line,
                  messages::LINES);
    expected += line;
  }
  write_all(console);
  EXPECT_EQ(text(output_), expected);
}

// A line of the launcher's own does not continue what a rank has begun.
TEST_F(ConsoleTest, RawTextDoesNotRunIntoTheLaunchersLines) {
  const UniqueFd copy(::dup(output_.write_end.get()));
  Console console(loop_, output_.write_end.get(), copy.get());
  console.print(messages::STANDARD_OUTPUT, "", "half", messages::RAW);
  console.say("something");
  console.print(messages::STANDARD_OUTPUT, "", "half", messages::RAW);
  console.finish();
  write_all(console);
  EXPECT_EQ(text(output_), "half\npaceline: something\nhalf");
}

TEST_F(ConsoleTest, AReaderThatDoesNotReadHoldsUpNothingElse) {
  Console console(loop_, output_.write_end.get(), error_.write_end.get());
  console.print(messages::STANDARD_OUTPUT, "", std::string(1 << 20, 'x'), messages::RAW);
  loop_.after(std::chrono::milliseconds(5), [this] { loop_.stop(); });
  ASSERT_TRUE(loop_.run().ok());
  EXPECT_GT(console.backlog_bytes(), 0u);
}

TEST_F(ConsoleTest, AReaderThatHasGone) {
  Console console(loop_, output_.write_end.get(), error_.write_end.get());
  int error = 0;
  console.when_output_broken([&](int what) { error = what; });
  output_.read_end.reset();
  console.print(messages::STANDARD_OUTPUT, "", "out\n", messages::LINES);
  write_all(console);
  EXPECT_EQ(error, EPIPE);
  console.print(messages::STANDARD_OUTPUT, "", "dropped\n", messages::LINES);
  EXPECT_EQ(console.backlog_bytes(), 0u);
  console.say("still here");
  write_all(console);
  EXPECT_EQ(text(error_), "paceline: still here\n");
}

TEST_F(ConsoleTest, ErrorsThatNobodyReadsAreDropped) {
  Console console(loop_, output_.write_end.get(), error_.write_end.get());
  bool broken = false;
  console.when_output_broken([&](int) { broken = true; });
  error_.read_end.reset();
  console.say("nobody hears this");
  console.print(messages::STANDARD_OUTPUT, "", "out\n", messages::LINES);
  write_all(console);
  EXPECT_FALSE(broken);
  EXPECT_EQ(text(output_), "out\n");
}

}  // namespace
}  // namespace paceline::launcher
