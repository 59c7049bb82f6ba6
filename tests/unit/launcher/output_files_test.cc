#include "launcher/agent/output_files.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;

class OutputFiles : public ::testing::Test {
 protected:
  ~OutputFiles() override { fs::remove_all(folder_); }

  static std::string make_folder() {
    std::string pattern = (fs::temp_directory_path() / "output-files-XXXXXX").string();
    return ::mkdtemp(pattern.data());
  }
  OutputPlace place(std::uint32_t ranks) const {
    OutputPlace place{.directory = folder_ + "/of/runs", .world_size = ranks, .ranks = {}};
    for (std::uint32_t rank = 0; rank < ranks; ++rank) place.ranks.push_back(rank);
    return place;
  }

  const std::string folder_ = make_folder();
};

TEST(RankFolder, NamesSort) {
  EXPECT_EQ(rank_folder(0, 1), "rank.0");
  EXPECT_EQ(rank_folder(9, 10), "rank.9");
  EXPECT_EQ(rank_folder(9, 11), "rank.09");
  EXPECT_EQ(rank_folder(10, 11), "rank.10");
  EXPECT_EQ(rank_folder(7, 1001), "rank.0007");
}

TEST_F(OutputFiles, AreMadeForTheRanksOfThisHost) {
  OutputPlace some = place(12);
  some.ranks = {8, 9, 10};
  const auto files = make_output_files(some);
  ASSERT_TRUE(files.ok()) << files.status().to_string();
  ASSERT_EQ(files->size(), 3u);
  EXPECT_EQ((*files)[0].output.path, some.directory + "/rank.08/stdout");
  EXPECT_EQ((*files)[2].error.path, some.directory + "/rank.10/stderr");
  EXPECT_EQ(::write((*files)[2].error.fd.get(), "x", 1), 1);
  EXPECT_EQ(fs::file_size(some.directory + "/rank.10/stderr"), 1u);
  EXPECT_FALSE(fs::exists(some.directory + "/rank.11"));
}

TEST_F(OutputFiles, OtherRanksOfTheSameJobAreNotInTheWay) {
  OutputPlace first = place(4);
  first.ranks = {0, 2};
  OutputPlace second = first;
  second.ranks = {1, 3};
  EXPECT_TRUE(make_output_files(first).ok());
  EXPECT_TRUE(make_output_files(second).ok());
}

TEST_F(OutputFiles, OutputOfAnEarlierJobIsLeftAlone) {
  ASSERT_TRUE(make_output_files(place(3)).ok());
  std::ofstream(place(3).directory + "/rank.0/stdout") << "precious";
  const auto again = make_output_files(place(3));
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.status().code(), Code::kInvalidArgument);
  EXPECT_NE(again.status().text().find("'" + place(3).directory + "/rank.0/stdout'"),
            std::string::npos)
      << again.status().text();
  EXPECT_EQ(fs::file_size(place(3).directory + "/rank.0/stdout"), 8u);
}

TEST_F(OutputFiles, JobsOfOtherSizesAreInTheWayToo) {
  ASSERT_TRUE(make_output_files(place(3)).ok());
  const auto wider = make_output_files(place(30));
  ASSERT_FALSE(wider.ok());
  EXPECT_NE(wider.status().text().find("/stdout'"), std::string::npos) << wider.status().text();
  EXPECT_FALSE(fs::exists(place(30).directory + "/rank.00"));
}

TEST_F(OutputFiles, WhatHasNoOutputIsNotInTheWay) {
  fs::create_directories(place(3).directory + "/rank.00");
  fs::create_directories(place(3).directory + "/rank.1");
  std::ofstream(place(3).directory + "/rank.log") << "mine";
  EXPECT_TRUE(make_output_files(place(3)).ok());
}

TEST_F(OutputFiles, NothingIsLeftOfAnAttempt) {
  fs::create_directories(place(3).directory + "/rank.2");
  std::ofstream(place(3).directory + "/rank.2/stderr") << "precious";
  ASSERT_FALSE(make_output_files(place(3)).ok());
  EXPECT_FALSE(fs::exists(place(3).directory + "/rank.0"));
  EXPECT_FALSE(fs::exists(place(3).directory + "/rank.2/stdout"));
  EXPECT_TRUE(fs::exists(place(3).directory + "/rank.2/stderr"));
}

TEST_F(OutputFiles, OneJobAtATime) {
  fs::create_directories(place(3).directory);
  const UniqueFd other(::open(place(3).directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(::flock(other.get(), LOCK_EX), 0);
  const auto files = make_output_files(place(3));
  ASSERT_FALSE(files.ok());
  EXPECT_NE(files.status().text().find("another job is creating"), std::string::npos);
}

TEST_F(OutputFiles, ADirectoryThatCannotBe) {
  std::ofstream(folder_ + "/of") << "a file";
  const auto files = make_output_files(place(3));
  ASSERT_FALSE(files.ok());
  EXPECT_EQ(files.status().text(),
            "--output-dir: cannot make the directory '" + folder_ + "/of/runs': Not a directory");
}

}  // namespace
}  // namespace paceline::launcher
