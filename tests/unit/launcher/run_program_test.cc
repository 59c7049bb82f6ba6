#include "launcher/system/run_program.h"

#include <string>

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

constexpr Duration kLong = std::chrono::seconds(30);

Status shell(const std::string& script, const std::string& input = "", Duration patience = kLong) {
  return run_program({"/bin/sh", "-c", script}, input, patience);
}

TEST(RunProgram, GetsItsInput) {
  EXPECT_TRUE(shell("test \"$(cat)\" = word", "word").ok());
  EXPECT_FALSE(shell("test \"$(cat)\" = word", "other").ok());
  EXPECT_TRUE(shell("cat > /dev/null", std::string(1 << 20, 'x')).ok());
}

TEST(RunProgram, TellsItsFirstComplaint) {
  EXPECT_EQ(shell("echo out; echo why >&2; echo where >&2; exit 3").text(), "sh: why");
  EXPECT_EQ(shell("exit 3").text(), "sh: exited with code 3");
  EXPECT_EQ(shell("kill -9 $$").text(), "sh: was killed by signal 9");
  EXPECT_TRUE(shell("echo warning >&2").ok()) << "what succeeds may say what it likes";
}

TEST(RunProgram, IsNotWaitedForForEver) {
  const Status status = shell("exec sleep 1000", "", std::chrono::milliseconds(50));
  EXPECT_EQ(status.code(), Code::kTimeout);
  EXPECT_EQ(status.text(), "sh: has not ended within 0.05 s, and was killed");
}

TEST(RunProgram, NeedsToBeThere) {
  EXPECT_FALSE(run_program({"/nonexistent/program"}, "", kLong).ok());
}

}  // namespace
}  // namespace paceline::launcher
