#include "comm/base/input_file.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace paceline {
namespace {

namespace fs = std::filesystem;

class InputFile : public ::testing::Test {
 protected:
  InputFile() { fs::create_directories(folder_); }
  ~InputFile() override { fs::remove_all(folder_); }
  std::string path(const char* name) const { return (folder_ / name).string(); }
  static std::string refusal(const std::string& path, std::size_t most_bytes = 10) {
    const Result<std::string> text = read_input(path, most_bytes);
    EXPECT_EQ(text.status().code(), Code::kInvalidArgument) << path;
    return text.status().text();
  }

  const fs::path folder_ =
      fs::path(::testing::TempDir()) / ("paceline_input_" + std::to_string(::getpid()));
};

TEST_F(InputFile, RegularFilesAreReadWholeUpToTheLimit) {
  std::ofstream(path("file")) << "0123456789";
  std::ofstream(path("empty"));
  EXPECT_EQ(read_input(path("file"), 10).value(), "0123456789");
  EXPECT_EQ(read_input(path("empty"), 10).value(), "");
  EXPECT_EQ(refusal(path("file"), 9), "it is longer than 9 bytes");
}

// /dev/zero never ends.
TEST_F(InputFile, OtherKindsAreRefused) {
  EXPECT_EQ(refusal("/dev/zero"), "it is a device");
  EXPECT_EQ(refusal(folder_.string()), "Is a directory");
  EXPECT_EQ(refusal(path("nothing")), "No such file or directory");
}

TEST_F(InputFile, PipesAreReadToTheirEnd) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::thread writer([this] {
    std::ofstream pipe(path("pipe"));
    pipe << "01234" << std::flush;
    ::poll(nullptr, 0, 50);  // its reader has found it empty by then
    pipe << "56789";
  });
  EXPECT_EQ(read_input(path("pipe"), 10).value(), "0123456789");
  writer.join();
}

}  // namespace
}  // namespace paceline
