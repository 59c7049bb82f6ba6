#include "launcher/head/job_tracer.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/harness/file_tree.h"
#include "tests/unit/launcher/says.h"

namespace paceline::launcher {
namespace {

using std::chrono::seconds;

constexpr TimePoint kBegin{std::chrono::hours(100)};

std::string contents_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A job of two hosts with a rank each.
class JobTracerTest : public ::testing::Test {
 protected:
  JobTracerTest() {
    for (const char* const name : {"h1", "h2"}) {
      HostState host;
      host.name = name;
      state_.ranks.push_back({.host = state_.hosts.size()});
      state_.hosts.push_back(host);
    }
  }

  std::unique_ptr<JobTracer> tracer(const std::string& path) {
    return std::make_unique<JobTracer>(
        JobTracer::Options{.begin = kBegin,
                           .job = "job 7",
                           .file = GrowingFile::make(path, "a trace").value(),
                           .say = [this](const std::string& text) { said_.push_back(text); }});
  }
  messages::FromAgent exited(std::uint32_t rank) const {
    messages::FromAgent message;
    message.set_epoch(state_.epoch);
    message.mutable_exited()->set_rank(rank);
    return message;
  }

  const testing::FileTree files_;
  const std::string path_ = files_.root() + "/trace.json";
  JobState state_;
  std::vector<std::string> said_;
};

TEST_F(JobTracerTest, FollowsTheJob) {
  const auto traced = tracer(path_);
  EXPECT_TRUE(says(contents_of(path_), "\"name\":\"job 7\"")) << "from the begin";
  traced->saw(kBegin + seconds(1), JobBegins{}, state_);
  EXPECT_TRUE(says(contents_of(path_), "2 ranks start, epoch 0"));
  state_.ranks[1].end = "exited with code 3";
  traced->saw(kBegin + seconds(2), AgentSaid{.host = 1, .message = exited(1)}, state_);
  traced->saw(kBegin + seconds(2), AgentSaid{.host = 1, .message = exited(0)}, state_);
  state_.faults.add({.host = "h2", .why = "the agent is gone"});
  state_.is_restarting = true;
  traced->saw(kBegin + seconds(3), AgentLost{.host = 1, .why = {}}, state_);
  state_.epoch = 1;
  state_.is_restarting = false;
  traced->saw(kBegin + seconds(4), TimePassed{}, state_);
  state_.finished = true;
  traced->saw(kBegin + seconds(5), TimePassed{}, state_);
  const std::string text = contents_of(path_);
  EXPECT_TRUE(says(text, "\"rank 1 exited with code 3\""));
  EXPECT_FALSE(says(text, "\"rank 0 ")) << "its host did not say so";
  EXPECT_TRUE(says(text, "\"host h2 is lost: the agent is gone\""));
  EXPECT_TRUE(says(text, "the ranks end, to start again"));
  EXPECT_TRUE(says(text, "2 ranks start again, epoch 1"));
  EXPECT_TRUE(text.starts_with("[\n"));
  EXPECT_TRUE(text.ends_with("\n]\n"));
  EXPECT_TRUE(said_.empty());
}

TEST_F(JobTracerTest, RanksEndWithTheirHost) {
  const auto traced = tracer(path_);
  traced->saw(kBegin + seconds(1), JobBegins{}, state_);
  state_.hosts[1].is_lost = true;
  state_.faults.add({.host = "h2", .why = "the agent is gone"});
  traced->saw(kBegin + seconds(2), TimePassed{}, state_);
  traced->saw(kBegin + seconds(3), AgentLost{.host = 1, .why = {}}, state_);
  traced->saw(kBegin + seconds(5), TimePassed{}, state_);
  const std::string text = contents_of(path_), wanted = "\"rank 1 is lost with its host\"";
  ASSERT_TRUE(says(text, wanted));
  EXPECT_EQ(text.find(wanted), text.rfind(wanted));
  EXPECT_FALSE(says(text, "\"rank 0 "));
}

TEST_F(JobTracerTest, ReplacesAFileAndClosesTheTraceOfAJobThatDidNotBegin) {
  files_.write("/trace.json", "before");
  tracer(path_);
  EXPECT_TRUE(contents_of(path_).starts_with("[\n{"));
  EXPECT_TRUE(contents_of(path_).ends_with("}\n]\n"));
}

TEST_F(JobTracerTest, LinksStay) {
  files_.write("/file.json", "before");
  const std::string link = files_.root() + "/link.json";
  std::filesystem::create_symlink("file.json", link);
  tracer(link);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_TRUE(contents_of(files_.root() + "/file.json").starts_with("[\n{"));
  // A link to nothing gets its file.
  std::filesystem::remove(files_.root() + "/file.json");
  tracer(link);
  EXPECT_TRUE(contents_of(files_.root() + "/file.json").starts_with("[\n{"));
  std::filesystem::create_symlink("loop", files_.root() + "/loop");
  EXPECT_FALSE(GrowingFile::make(files_.root() + "/loop", "a trace").ok());
}

// As `--trace /dev/stdout >> FILE`.
TEST_F(JobTracerTest, TheFileOfADescriptorIsAppendedTo) {
  files_.write("/trace.json", "before");
  const UniqueFd file(::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_APPEND));
  const std::string link = files_.root() + "/descriptor";
  std::filesystem::create_symlink("/proc/self/fd/" + std::to_string(file.get()), link);
  tracer(link);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_TRUE(contents_of(path_).starts_with("before[\n{"));
}

TEST_F(JobTracerTest, WhatAKilledRunLeftDoesNotMatter) {
  files_.write("/trace.json." + std::to_string(::getpid()), "left");
  tracer(path_);
  EXPECT_TRUE(contents_of(path_).starts_with("[\n{"));
}

TEST_F(JobTracerTest, AFullDiskIsWarnedOfOnce) {
  const auto traced = tracer("/dev/full");
  for (int i = 1; i < 10; ++i) traced->saw(kBegin + seconds(i), TimePassed{}, state_);
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_TRUE(says(said_[0], "'/dev/full'")) << said_[0];
  EXPECT_TRUE(says(said_[0], "No space left on device")) << said_[0];
}

// Also an event that the disk took in part is removed.
TEST_F(JobTracerTest, WhatWasWrittenBeforeTheDiskWasFullStays) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto traced = tracer(path_);
  traced->saw(kBegin + seconds(1), JobBegins{}, state_);
  const std::string written = contents_of(path_);
  rlimit full = before;
  full.rlim_cur = written.size() + 10;
  ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  state_.epoch = 1;
  traced->saw(kBegin + seconds(3), TimePassed{}, state_);
  ::setrlimit(RLIMIT_FSIZE, &before);
  state_.epoch = 2;
  traced->saw(kBegin + seconds(5), TimePassed{}, state_);
  EXPECT_EQ(contents_of(path_), written);
  EXPECT_EQ(said_.size(), 1u);
}

TEST_F(JobTracerTest, AFileThatCannotBeMadeIsRefused) {
  const std::string missing = files_.root() + "/missing/trace.json";
  EXPECT_TRUE(says(std::string(GrowingFile::make(missing, "a trace").status().text()), missing));
  const std::string pipe = files_.root() + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_TRUE(
      says(std::string(GrowingFile::make(pipe, "a trace").status().text()), "it is a pipe"));
  EXPECT_FALSE(GrowingFile::make(files_.root(), "a trace").ok());
}

}  // namespace
}  // namespace paceline::launcher
