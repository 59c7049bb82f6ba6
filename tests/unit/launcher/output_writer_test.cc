#include "launcher/agent/output_writer.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

using std::chrono::milliseconds;

// A full pipe stands for the full disk: it takes nothing until the test reads it.
class OutputWriterTest : public ::testing::Test {
 protected:
  OutputWriterTest() {
    ::fcntl(pipe_.write_end.get(), F_SETFL, O_NONBLOCK);
    ::fcntl(pipe_.write_end.get(), F_SETPIPE_SZ, 4096);
    ::fcntl(pipe_.read_end.get(), F_SETFL, O_NONBLOCK);
    writer_.when_resumed([this] {
      ++resumed_;
      if (stop_when_resumed_) loop_.stop();
    });
    loop_.after(std::chrono::seconds(20), [this] { loop_.stop(); });
  }

  std::string read_all() {
    std::string all(1 << 16, '\0');
    const ssize_t got = ::read(pipe_.read_end.get(), all.data(), all.size());
    all.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return all;
  }
  std::string name() const { return "cannot write '/out/rank.0/stdout': "; }

  SystemClock clock_;
  EventLoop loop_{clock_};
  Pipe pipe_ = *make_pipe();
  std::vector<std::string> notices_;
  std::vector<std::string> failures_;
  WriteRetry retry_{loop_,
                    {.period = milliseconds(2),
                     .patience = milliseconds(100),
                     .notice = [this](const std::string& text) { notices_.push_back(text); },
                     .give_up =
                         [this](const std::string& text) {
                           failures_.push_back(text);
                           loop_.stop();
                         }}};
  OutputWriter writer_{
      retry_, {.path = "/out/rank.0/stdout", .fd = UniqueFd(::dup(pipe_.write_end.get()))}};
  int resumed_ = 0;
  bool stop_when_resumed_ = true;
};

TEST_F(OutputWriterTest, WritesAtOnceWhereItCan) {
  writer_.write("one");
  writer_.write("");
  writer_.write(" two");
  EXPECT_FALSE(writer_.waiting());
  EXPECT_EQ(read_all(), "one two");
  retry_.settle();
  EXPECT_TRUE(notices_.empty());
}

TEST_F(OutputWriterTest, WaitsAndGoesOn) {
  const std::string text = std::string(4096, 'a') + std::string(4000, 'b');
  writer_.write(text);
  ASSERT_TRUE(writer_.waiting());
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_EQ(notices_[0].find(name() + "Resource temporarily unavailable; the ranks wait"), 0u);
  std::string seen = read_all();
  ASSERT_TRUE(loop_.run().ok());
  EXPECT_EQ(seen + read_all(), text);
  EXPECT_FALSE(writer_.waiting());
  EXPECT_EQ(resumed_, 1);
  EXPECT_EQ(notices_.size(), 1u) << "the trouble may come back within the next period";
  retry_.settle();
  retry_.settle();
  ASSERT_EQ(notices_.size(), 2u);
  EXPECT_NE(notices_[1].find("written again"), std::string::npos);
  EXPECT_TRUE(failures_.empty());
}

TEST_F(OutputWriterTest, AnEpisodeEndsByItself) {
  writer_.write(std::string(5000, 'a'));
  read_all();
  stop_when_resumed_ = false;
  loop_.after(milliseconds(60), [this] { loop_.stop(); });
  ASSERT_TRUE(loop_.run().ok());
  EXPECT_EQ(notices_.size(), 2u);
}

TEST_F(OutputWriterTest, ManyFilesAreOneEpisode) {
  OutputWriter other(retry_,
                     {.path = "/out/rank.1/stdout", .fd = UniqueFd(::dup(pipe_.write_end.get()))});
  writer_.write(std::string(5000, 'a'));
  other.write("b");
  EXPECT_TRUE(other.waiting());
  EXPECT_EQ(notices_.size(), 1u);
}

TEST_F(OutputWriterTest, PatienceEnds) {
  writer_.write(std::string(5000, 'a'));
  ASSERT_TRUE(loop_.run().ok());
  ASSERT_EQ(failures_.size(), 1u);
  EXPECT_EQ(failures_[0].find(name() + "Resource temporarily unavailable"), 0u);
  EXPECT_FALSE(writer_.waiting());
  EXPECT_EQ(resumed_, 1) << "whoever waits for the file may go on";
  read_all();
  writer_.write("dropped");
  EXPECT_EQ(read_all().size(), 0u) << "a file with a hole would pass for the whole";
}

TEST_F(OutputWriterTest, ProgressRenewsThePatience) {
  stop_when_resumed_ = false;
  writer_.write(std::string(60'000, 'a'));
  std::size_t seen = 0;
  for (int i = 1; i <= 8; ++i)
    loop_.after(milliseconds(40 * i), [&] { seen += read_all().size(); });
  loop_.after(milliseconds(330), [this] { loop_.stop(); });
  ASSERT_TRUE(loop_.run().ok());
  EXPECT_TRUE(failures_.empty()) << "330 ms, although no file may be stuck for 100";
  EXPECT_EQ(seen, 8 * 4096u);
}

}  // namespace
}  // namespace paceline::launcher
