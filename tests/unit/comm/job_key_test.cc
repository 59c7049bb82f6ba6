#include "comm/job_key.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace paceline {
namespace {

class JobKeyFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "paceline-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& text, mode_t mode) {
    const std::string path = (folder_ / "key").string();
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }

  std::filesystem::path folder_;
};

bool same(const JobKey& a, const JobKey& b) {
  return b.verify("test", as_byte_view("text"), a.prove("test", as_byte_view("text")));
}

TEST(JobKey, TravelsInSealedMemory) {
  const JobKey key = JobKey::generate().value();
  const UniqueFd memory = key.to_memfd().value();
  EXPECT_TRUE(same(key, JobKey::from_descriptor(memory.get()).value()));
  EXPECT_TRUE(same(key, JobKey::from_descriptor(memory.get()).value())) << "a second reader";
  EXPECT_LT(::pwrite(memory.get(), "x", 1, 0), 0) << "it can be written";
  EXPECT_FALSE(same(key, JobKey::generate().value()));
}

TEST(JobKey, AProofIsBoundToItsPurposeAndText) {
  const JobKey key = JobKey::generate().value();
  const Mac mac = key.prove("a", as_byte_view("text"));
  EXPECT_TRUE(key.verify("a", as_byte_view("text"), mac));
  EXPECT_FALSE(key.verify("b", as_byte_view("text"), mac));
  EXPECT_FALSE(key.verify("a", as_byte_view("other"), mac));
  EXPECT_FALSE(key.verify("a", as_byte_view("text"), ByteView(mac).first(31)));
}

TEST_F(JobKeyFile, IsReadIfOnlyItsOwnerMay) {
  const std::string digits(64, 'a');
  EXPECT_TRUE(JobKey::from_file(write(digits + "\n", 0600)).ok());
  const Status open = JobKey::from_file(write(digits, 0640)).status();
  EXPECT_EQ(open.code(), Code::kDenied);
  EXPECT_NE(open.text().find("chmod 600"), std::string::npos);
}

TEST_F(JobKeyFile, IsRefusedWithItsNameIfItHoldsSomethingElse) {
  for (const std::string& text : {std::string("short"), std::string(64, 'g'), std::string()}) {
    const Status status = JobKey::from_file(write(text, 0600)).status();
    EXPECT_EQ(status.code(), Code::kDenied);
    EXPECT_NE(status.text().find("key"), std::string::npos);
  }
  EXPECT_FALSE(JobKey::from_file((folder_ / "absent").string()).ok());
}

TEST(JobKey, IsAbsentWhereTheEnvironmentNamesNone) {
  EXPECT_EQ(JobKey::from_environment({}).value(), nullptr);
  EXPECT_FALSE(JobKey::from_environment({.job_key_fd = 1 << 20}).ok());
}

}  // namespace
}  // namespace paceline
