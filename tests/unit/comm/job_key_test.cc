#include "comm/job_key.h"

#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace paceline {
namespace {

const std::string kDigits = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

// Files in a folder that goes away with it.
class KeyFileTest : public ::testing::Test {
 protected:
  KeyFileTest() : folder_(::testing::TempDir() + "paceline-key-XXXXXX") {
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
  }
  ~KeyFileTest() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& content, mode_t mode = 0600) {
    const std::string path = folder_ + "/key" + std::to_string(++files_);
    std::ofstream(path) << content;
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }

  std::string folder_;
  int files_ = 0;
};

Mac proof_of(const JobKey& key) { return key.prove("test", as_byte_view("text")); }

Mac read_proof(const Result<JobKey>& key) {
  EXPECT_TRUE(key.ok()) << key.status().to_string();
  return key.ok() ? proof_of(*key) : Mac();
}

TEST(JobKey, AProofIsOfOneKeyOnePurposeAndOneText) {
  const JobKey key = JobKey::generate().value();
  const Mac proof = key.prove("test", as_byte_view("text"));
  EXPECT_TRUE(key.verify("test", as_byte_view("text"), proof));
  EXPECT_FALSE(key.verify("test", as_byte_view("texts"), proof));
  EXPECT_FALSE(key.verify("tests", as_byte_view("text"), proof));
  EXPECT_FALSE(key.verify("testt", as_byte_view("ext"), proof)) << "purpose and text run together";
  EXPECT_FALSE(key.verify("test", as_byte_view("text"), ByteView(proof).first(31)));
  EXPECT_FALSE(key.verify("test", as_byte_view("text"), {}));
  EXPECT_FALSE(JobKey::generate().value().verify("test", as_byte_view("text"), proof));
}

TEST(JobKey, TravelsThroughSealedMemory) {
  const JobKey key = JobKey::generate().value();
  const UniqueFd memory = key.to_memfd().value();
  EXPECT_NE(::fcntl(memory.get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(read_proof(JobKey::from_descriptor(memory.get())), proof_of(key));
  EXPECT_EQ(read_proof(JobKey::from_descriptor(memory.get())), proof_of(key)) << "and again";
  EXPECT_LT(::pwrite(memory.get(), "0", 1, 0), 0) << "nobody changes it";
  EXPECT_NE(::ftruncate(memory.get(), 0), 0);
}

TEST(JobKey, ADescriptorThatCannotBeReadFromItsBeginningIsRefused) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd read_end(ends[0]), write_end(ends[1]);
  EXPECT_EQ(JobKey::from_descriptor(read_end.get()).status().code(), Code::kDenied);
  EXPECT_EQ(JobKey::from_descriptor(-1).status().code(), Code::kDenied);
}

TEST(JobKey, IsWipedWhereItIsMovedFrom) {
  JobKey key = JobKey::generate().value();
  const Mac proof = proof_of(key);
  JobKey moved = std::move(key);
  EXPECT_EQ(proof_of(moved), proof);
  EXPECT_NE(proof_of(key), proof);
  JobKey assigned = JobKey::generate().value();
  assigned = std::move(moved);
  EXPECT_EQ(proof_of(assigned), proof);
  EXPECT_NE(proof_of(moved), proof);
}

// The value is that of `openssl dgst -sha256 -mac HMAC` over "test", a zero byte and "text".
TEST_F(KeyFileTest, HoldsHexadecimalDigits) {
  const Mac proof = read_proof(JobKey::from_file(file(kDigits + "\n")));
  EXPECT_EQ(read_proof(JobKey::from_file(file(kDigits, 0400))), proof);
  std::string upper = kDigits;
  for (char& digit : upper) digit = static_cast<char>(std::toupper(digit));
  EXPECT_EQ(read_proof(JobKey::from_file(file(upper))), proof);
  std::string hex;
  for (const std::byte byte : proof) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(byte));
    hex += digits;
  }
  EXPECT_EQ(hex, "41f046f7cb380213aeb4d6f2e036ec12bd601d0aa38bad27840c30b2f98115b0");
}

TEST_F(KeyFileTest, ThatOthersMayReadIsRefusedWithWhatToDo) {
  for (const mode_t mode : {0640u, 0604u, 0660u, 0606u, 0644u, 0610u, 0601u, 0777u}) {
    const std::string path = file(kDigits, mode);
    const Status status = JobKey::from_file(path).status();
    EXPECT_EQ(status.code(), Code::kDenied) << std::oct << mode;
    EXPECT_NE(status.text().find(path), std::string::npos) << status.text();
    EXPECT_NE(status.text().find("chmod 600"), std::string::npos) << status.text();
  }
}

TEST_F(KeyFileTest, OfAnythingElseIsRefusedWithItsPathAndWithoutItsContent) {
  for (std::string content : {kDigits.substr(1), std::string(), std::string("\n"),
                              "g" + kDigits.substr(1), "-" + kDigits.substr(1),
                              "0x" + kDigits.substr(2), " " + kDigits, kDigits.substr(1) + "\n"}) {
    const std::string path = file(content);
    const Status status = JobKey::from_file(path).status();
    EXPECT_EQ(status.code(), Code::kDenied) << content;
    EXPECT_NE(status.text().find(path), std::string::npos) << status.text();
    EXPECT_EQ(status.text().find("0a0b0c"), std::string::npos) << "a secret in an error";
  }
}

TEST_F(KeyFileTest, ThatIsNoFileIsRefusedAtOnce) {
  EXPECT_EQ(JobKey::from_file(folder_ + "/missing").status().code(), Code::kDenied);
  EXPECT_FALSE(JobKey::from_file(folder_).ok());
  const std::string fifo = folder_ + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_FALSE(JobKey::from_file(fifo).ok());
}

TEST_F(KeyFileTest, TheEnvironmentSaysWhereTheKeyIs) {
  EXPECT_EQ(JobKey::from_environment({}).value(), nullptr);
  Environment environment;
  environment.job_key_file = file(kDigits);
  const auto from_file = JobKey::from_environment(environment);
  ASSERT_TRUE(from_file.ok() && *from_file != nullptr);
  const JobKey other = JobKey::generate().value();
  const UniqueFd memory = other.to_memfd().value();
  environment.job_key_fd = memory.get();
  const auto from_fd = JobKey::from_environment(environment);
  ASSERT_TRUE(from_fd.ok() && *from_fd != nullptr);
  EXPECT_EQ(proof_of(**from_fd), proof_of(other)) << "the descriptor goes first";
}

TEST_F(KeyFileTest, WhereTheDescriptorIsLostTheFileHelps) {
  Environment environment;
  environment.job_key_file = file(kDigits);
  const Mac proof = read_proof(JobKey::from_file(environment.job_key_file));
  const UniqueFd other(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const UniqueFd digits(::open(file(std::string(64, 'a')).c_str(), O_RDONLY | O_CLOEXEC));
  for (const int lost : {1 << 20, other.get(), digits.get()}) {
    environment.job_key_fd = lost;
    const auto from_file = JobKey::from_environment(environment);
    ASSERT_TRUE(from_file.ok() && *from_file != nullptr) << from_file.status().to_string();
    EXPECT_EQ(proof_of(**from_file), proof);
  }
}

TEST_F(KeyFileTest, WhereNeitherHelpsTheErrorSaysWhyAndWhatToDo) {
  Environment environment;
  environment.job_key_fd = 1 << 20;
  for (const std::string& path : {std::string(), folder_ + "/missing"}) {
    environment.job_key_file = path;
    const Status status = JobKey::from_environment(environment).status();
    EXPECT_EQ(status.code(), Code::kDenied);
    for (const std::string& part :
         {std::string("descriptor 1048576 does not contain"), path,
          std::string("closed or replaced it"), std::string("close_fds=False"),
          std::string(path.empty() ? "" : "another user, user namespace or pid namespace"),
          std::string("set PACELINE_JOB_KEY_FILE to its path")})
      EXPECT_NE(status.text().find(part), std::string::npos) << status.text();
  }
}

TEST_F(KeyFileTest, MemoryOfAnotherProcessIsAFileOfItsUser) {
  const JobKey key = JobKey::generate().value();
  const UniqueFd memory = key.to_memfd().value();
  const std::string path =
      "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(memory.get());
  EXPECT_EQ(read_proof(JobKey::from_file(path)), proof_of(key));
}

TEST_F(KeyFileTest, OfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const std::string path = file(kDigits);
  ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
  const Status status = JobKey::from_file(path).status();
  EXPECT_EQ(status.code(), Code::kDenied);
  EXPECT_NE(status.text().find(path + " belongs to user 65534"), std::string::npos)
      << status.text();
}

TEST_F(KeyFileTest, ADescriptorOfTheProgramsOwnIsLeftAlone) {
  const UniqueFd own(::open(file(kDigits).c_str(), O_RDONLY));
  Environment environment;
  environment.job_key_fd = own.get();
  JobKey::keep_from_children(environment);
  EXPECT_EQ(::fcntl(own.get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(JobKey::from_environment(environment).status().code(), Code::kDenied);
}

TEST(JobKey, ChildrenDoNotInheritItOnceTheyAreNotMeantTo) {
  const auto is_inherited = [](const UniqueFd& fd) {
    return (::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC) == 0;
  };
  const UniqueFd memory = JobKey::generate().value().to_memfd().value();
  const UniqueFd other(::open("/dev/null", O_RDONLY));
  ::fcntl(memory.get(), F_SETFD, 0);
  Environment environment;
  JobKey::keep_from_children(environment);
  environment.job_key_fd = other.get();
  JobKey::keep_from_children(environment);
  EXPECT_TRUE(is_inherited(other)) << "it is the program's own";
  environment.job_key_fd = memory.get();
  JobKey::keep_from_children(environment);
  EXPECT_FALSE(is_inherited(memory));
  EXPECT_TRUE(JobKey::from_environment(environment).ok());
}

}  // namespace
}  // namespace paceline
