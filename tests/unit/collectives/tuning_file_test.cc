#include "collectives/tuning_file.h"

#include <cstdlib>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "comm/base/machine.h"

namespace paceline {
namespace {

class TuningFile : public ::testing::Test {
 protected:
  ~TuningFile() override { ::unlink(path_.c_str()); }
  void write(const std::string& text) { std::ofstream(path_) << text; }

  const std::string path_ = ::testing::TempDir() + "tuning-" + std::to_string(::getpid());
};

TEST_F(TuningFile, LiesInTheCacheOrInTheHome) {
  const auto folder = [](const char* cache, const char* home) {
    return tuning_folder(
        [=](const char* name) { return std::string(name) == "HOME" ? home : cache; });
  };
  EXPECT_EQ(folder("/c", "/h"), "/c/paceline");
  EXPECT_EQ(folder(nullptr, "/h"), "/h/.cache/paceline");
  EXPECT_EQ(folder("relative", "/h"), "/h/.cache/paceline");
  EXPECT_EQ(folder(nullptr, nullptr), "");
}

TEST_F(TuningFile, OneThatIsNotThereSaysNothing) {
  const auto tuning = read_tuning(path_, "ab");
  ASSERT_TRUE(tuning.ok());
  EXPECT_EQ(*tuning, std::nullopt);
}

TEST_F(TuningFile, OneOfThisMachineIsRead) {
  const shm::Tuning tuning{.machine = "ab",
                           .sizes = {{OperationKind::kAllReduce, 2, shm::Limit::kBuffers, 4096}}};
  write(shm::to_text(tuning));
  EXPECT_EQ(**read_tuning(path_, "ab"), tuning);
}

TEST_F(TuningFile, OneOfAnotherMachineOrThatIsNoneIsNamed) {
  for (const std::string& text : {shm::to_text({.machine = "other", .sizes = {}}),
                                  std::string("nonsense\n"), std::string(100'000, 'x')}) {
    write(text);
    const auto tuning = read_tuning(path_, "ab");
    ASSERT_FALSE(tuning.ok());
    EXPECT_NE(tuning.status().text().find(path_), std::string::npos) << tuning.status().text();
  }
}

TEST_F(TuningFile, TheEnvironmentNamesAnotherOrNone) {
  Environment environment;
  environment.tuning = "none";
  EXPECT_EQ(*tuning_of(environment), std::nullopt);
  environment.tuning = path_;
  EXPECT_FALSE(tuning_of(environment).ok()) << "who names one means that it is there";
  write(shm::to_text({.machine = machine_fingerprint(), .sizes = {}}));
  EXPECT_TRUE(tuning_of(environment)->has_value());
}

}  // namespace
}  // namespace paceline
