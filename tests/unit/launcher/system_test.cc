#include "launcher/system/system.h"

#include <gtest/gtest.h>

#include "comm/base/read_file.h"

namespace paceline::launcher {
namespace {

TEST(ReadFile, GivesAllThatIsThere) {
  EXPECT_NE(read_file("/proc/self/stat").find(") R "), std::string::npos);
  EXPECT_GT(read_file("/proc/self/smaps").size(), 4096u);
}

TEST(ReadFile, WhatCannotBeReadIsEmpty) {
  EXPECT_EQ(read_file("/proc/self"), "") << "a folder opens, and reading it fails";
  EXPECT_EQ(read_file("/proc/0/stat"), "");
}

}  // namespace
}  // namespace paceline::launcher
