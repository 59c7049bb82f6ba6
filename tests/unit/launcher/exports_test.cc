#include "launcher/options/exports.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

using Settings = std::vector<EnvironmentSetting>;

const std::vector<std::string> kEnvironment = {
    "PATH=/bin", "NCCL_DEBUG=INFO", "NCCL_ALGO=", "XNCCL_A=1", "PWD=/here", "_=/bin/env", "A=b=c"};

TEST(Exports, ANameTakesItsValue) {
  const Exports exports = exports_of(Settings{{"A", {}}, {"B", "given"}}, kEnvironment);
  EXPECT_EQ(exports.settings, (Settings{{"A", "b=c"}, {"B", "given"}}));
  EXPECT_TRUE(exports.missing.empty());
}

TEST(Exports, APatternTakesAllThatItMatches) {
  EXPECT_EQ(exports_of(Settings{{"NCCL_*", {}}}, kEnvironment).settings,
            (Settings{{"NCCL_DEBUG", "INFO"}, {"NCCL_ALGO", ""}}));
  EXPECT_EQ(exports_of(Settings{{"*NCCL_A*", {}}, {"NCCL_ALGO", "Ring"}}, kEnvironment).settings,
            (Settings{{"NCCL_ALGO", ""}, {"XNCCL_A", "1"}, {"NCCL_ALGO", "Ring"}}));
}

TEST(Exports, AllIsEveryVariableThatDoesNotDescribeTheShell) {
  EXPECT_EQ(exports_of(Settings{{"ALL", {}}}, kEnvironment).settings,
            (Settings{{"PATH", "/bin"},
                      {"NCCL_DEBUG", "INFO"},
                      {"NCCL_ALGO", ""},
                      {"XNCCL_A", "1"},
                      {"A", "b=c"}}));
  EXPECT_EQ(exports_of(Settings{{"ALL", {}}}, std::vector<std::string>{"ALL=1", "B=2"}).settings,
            (Settings{{"ALL", "1"}}))
      << "a variable may have this name";
}

TEST(Exports, WhatNoVariableHasIsNamed) {
  const Exports exports = exports_of(Settings{{"NONE", {}}, {"UCX_*", {}}}, kEnvironment);
  EXPECT_TRUE(exports.settings.empty());
  EXPECT_EQ(exports.missing, (std::vector<std::string>{"NONE", "UCX_*"}));
}

}  // namespace
}  // namespace paceline::launcher
