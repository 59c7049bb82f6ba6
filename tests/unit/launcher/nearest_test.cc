#include "launcher/options/nearest.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

const std::vector<std::string> kKnown{"run", "info", "--timeout", "--tag-output"};

TEST(Nearest, FindsTypingErrors) {
  EXPECT_EQ(nearest("rnu", kKnown), "run");
  EXPECT_EQ(nearest("inof", kKnown), "info");
  EXPECT_EQ(nearest("--timeot", kKnown), "--timeout");
  EXPECT_EQ(nearest("--tagoutptu", kKnown), "--tag-output");
}

TEST(Nearest, DoesNotGuessWildly) {
  EXPECT_EQ(nearest("elephant", kKnown), "");
  EXPECT_EQ(nearest("", kKnown), "");
  EXPECT_EQ(nearest("x", kKnown), "");
  EXPECT_EQ(nearest("run", {}), "");
}

TEST(Nearest, AsASentence) {
  EXPECT_EQ(did_you_mean("rn", kKnown), "; did you mean 'run'?");
  EXPECT_EQ(did_you_mean("elephant", kKnown), "");
}

}  // namespace
}  // namespace paceline::launcher
