#include "launcher/tools/lab/system_program.h"

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

TEST(SystemProgram, IsFoundOrItsPackageNamed) {
  const Result<std::string> shell = find_system_program("sh", "dash");
  ASSERT_TRUE(shell.ok());
  EXPECT_TRUE(shell->starts_with('/'));
  EXPECT_EQ(find_system_program("no-such-program", "nowhere").status().text(),
            "the program 'no-such-program' is not installed (Debian package: nowhere)");
}

}  // namespace
}  // namespace paceline::launcher
