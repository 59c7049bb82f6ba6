#include "launcher/agent/rank_streams.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;

class RankStreamsTest : public ::testing::Test {
 protected:
  RankStreamsTest() {
    start_.set_world_size(2);
    for (const std::uint32_t rank : {0u, 1u}) start_.add_ranks(rank);
    start_.set_split_lines(true);
    loop_.after(std::chrono::seconds(20), [this] {
      ADD_FAILURE() << "the time is up";
      loop_.stop();
    });
  }
  ~RankStreamsTest() override { fs::remove_all(folder_); }

  void open() {
    streams_ = std::make_unique<RankStreams>(
        loop_, start_, UniqueFd(),
        [this](const messages::FromAgent& message) { receive(message); });
    ASSERT_TRUE(streams_->prepare(start_).ok());
    for (int i = 0; i < start_.ranks_size(); ++i) {
      RankEquipment equipment;
      const Status equipped = streams_->equip(i, equipment);
      ASSERT_TRUE(equipped.ok()) << equipped.to_string();
      std::vector<UniqueFd> ends = equipment.take_descriptors();
      ASSERT_EQ(ends.size(), 3u);
      ranks_.push_back({std::move(ends[0]), std::move(ends[1]), std::move(ends[2])});
    }
  }
  void use_files() { start_.set_output_directory(folder_ + "/out"); }
  void write(std::size_t rank, const std::string& text) {
    ASSERT_EQ(::write(ranks_[rank].output.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  void run_until_finished() {
    ranks_.clear();
    streams_->finish([this] {
      finished_ = true;
      loop_.stop();
    });
    if (!finished_) {
      ASSERT_TRUE(loop_.run().ok());
    }
    EXPECT_TRUE(finished_);
  }
  std::string file(const std::string& name) const {
    std::ifstream stream(folder_ + "/out/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  SystemClock clock_;
  EventLoop loop_{clock_};
  messages::Start start_;
  std::unique_ptr<RankStreams> streams_;
  struct RankEnds {
    UniqueFd input, output, error;
  };
  std::vector<RankEnds> ranks_;
  std::map<std::pair<std::uint32_t, messages::Stream>, std::string> shown_;
  std::vector<std::string> notices_;
  std::size_t stop_reading_at_ = 0;  // messages
  std::size_t messages_ = 0;
  bool finished_ = false;
  const std::string folder_ = [] {
    std::string pattern = (fs::temp_directory_path() / "rank-streams-XXXXXX").string();
    return std::string(::mkdtemp(pattern.data()));
  }();

 private:
  void receive(const messages::FromAgent& message) {
    if (message.has_notice()) notices_.push_back(message.notice().text());
    if (!message.has_output()) return;
    EXPECT_FALSE(finished_);
    shown_[{message.output().rank(), message.output().stream()}] += message.output().text();
    if (++messages_ == stop_reading_at_) streams_->set_reading(false);
  }
};

TEST_F(RankStreamsTest, FilesGetEveryByteAndTheConsoleLines) {
  use_files();
  open();
  const std::string bytes("a\0\r\rb\n\xff half", 12);
  write(0, bytes);
  ASSERT_EQ(::write(ranks_[1].error.get(), "e\r\n", 3), 3);
  run_until_finished();
  EXPECT_EQ(file("rank.0/stdout"), bytes);
  EXPECT_EQ(file("rank.1/stderr"), "e\r\n");
  EXPECT_EQ(file("rank.0/stderr"), "");
  EXPECT_EQ((shown_[{0, messages::STANDARD_OUTPUT}]), "b\n\xff half");
  EXPECT_EQ((shown_[{1, messages::STANDARD_ERROR}]), "e\r\n");
}

TEST_F(RankStreamsTest, FilesAreMadeBeforeTheFirstRank) {
  use_files();
  fs::create_directories(folder_ + "/out/rank.1");
  std::ofstream(folder_ + "/out/rank.1/stdout") << "precious";
  RankStreams streams(loop_, start_, UniqueFd(), [](const messages::FromAgent&) {});
  const Status prepared = streams.prepare(start_);
  ASSERT_FALSE(prepared.ok());
  EXPECT_NE(prepared.text().find("rank.1/stdout"), std::string::npos);
}

TEST_F(RankStreamsTest, RanksThatAreNotShownTellNothing) {
  start_.add_on_console(false);
  start_.add_on_console(true);
  open();
  struct stat status {};
  ASSERT_EQ(::fstat(ranks_[0].output.get(), &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode)) << "the null device, not a pipe that somebody has to read";
  write(0, "unseen\n");
  write(1, "seen\n");
  run_until_finished();
  EXPECT_EQ(shown_.size(), 1u);
  EXPECT_EQ((shown_[{1, messages::STANDARD_OUTPUT}]), "seen\n");
}

TEST_F(RankStreamsTest, ASlowConsoleHoldsUpOnlyWhatItShows) {
  use_files();
  start_.add_on_console(false);
  start_.add_on_console(true);
  open();
  streams_->set_reading(false);
  write(0, "unseen\n");
  write(1, "seen\n");
  loop_.after(std::chrono::milliseconds(5), [this] { loop_.stop(); });
  ASSERT_TRUE(loop_.run().ok());
  messages::ProcessExited exited;
  messages::RankExited report;
  exited.set_rank(1);
  streams_->ended(exited, report);
  EXPECT_EQ(file("rank.0/stdout"), "unseen\n");
  EXPECT_EQ(file("rank.1/stdout"), "");
  streams_->set_reading(true);
  run_until_finished();
  EXPECT_EQ(file("rank.1/stdout"), "seen\n");
}

// What lies in the pipes at the end comes no faster than the head takes it, and all of it comes.
TEST_F(RankStreamsTest, TheEndWaitsForTheHead) {
  start_.set_split_lines(false);
  open();
  const std::string text(40'000, 'x');
  write(0, text);
  write(1, text);
  stop_reading_at_ = 1;
  loop_.after(std::chrono::milliseconds(5), [this] {
    EXPECT_EQ(messages_, 1u);
    EXPECT_FALSE(finished_);
    streams_->set_reading(true);
  });
  run_until_finished();
  EXPECT_EQ((shown_[{0, messages::STANDARD_OUTPUT}]), text);
  EXPECT_EQ((shown_[{1, messages::STANDARD_OUTPUT}]), text);
}

TEST_F(RankStreamsTest, AWriterThatOutlivesTheJobDoesNotHoldItUp) {
  open();
  write(0, "last words");
  const UniqueFd survivor(::dup(ranks_[0].output.get()));
  streams_->set_reading(false);
  loop_.after(std::chrono::milliseconds(5), [this] { streams_->set_reading(true); });
  run_until_finished();
  EXPECT_EQ((shown_[{0, messages::STANDARD_OUTPUT}]), "last words");
}

// The soft limit of the size of files is the full disk here, raising it makes room.
TEST_F(RankStreamsTest, AFullDiskHoldsUpTheRankAndTheEnd) {
  use_files();
  open();
  rlimit before{};
  ::signal(SIGXFSZ, SIG_IGN);  // as `paceline run` does
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit full = before;
  full.rlim_cur = 1000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  const std::string text = std::string(3000, 'x') + '\n';
  write(0, text);
  loop_.after(std::chrono::milliseconds(5), [this, before] {
    EXPECT_EQ(file("rank.0/stdout").size(), 1000u);
    write(0, "more\n");
    EXPECT_FALSE(finished_);
    ::setrlimit(RLIMIT_FSIZE, &before);
    run_until_finished();
  });
  ASSERT_TRUE(loop_.run().ok());
  EXPECT_EQ(file("rank.0/stdout"), text + "more\n");
  EXPECT_EQ((shown_[{0, messages::STANDARD_OUTPUT}]), text + "more\n");
  ASSERT_EQ(notices_.size(), 2u);
  EXPECT_NE(notices_[0].find("/out/rank.0/stdout': File too large"), std::string::npos);
  EXPECT_NE(notices_[1].find("written again"), std::string::npos);
}

}  // namespace
}  // namespace paceline::launcher
