#include "launcher/head/output_format.h"

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

TEST(OutputFormat, Tags) {
  EXPECT_EQ(output_tag(12, "node1"), "[12@node1] ");
  OutputFormat format(false);
  EXPECT_EQ(format.format("[0@a] ", "one\n\ntwo\n", messages::LINES),
            "[0@a] one\n[0@a] \n[0@a] two\n");
  EXPECT_EQ(format.format("", "one\ntwo\n", messages::LINES), "one\ntwo\n");
  EXPECT_EQ(format.format("[0@a] ", "", messages::LINES), "");
}

TEST(OutputFormat, RawBytesStayAsTheyAre) {
  OutputFormat format(true);
  EXPECT_EQ(format.format("[0@a] ", "a\r\nb", messages::RAW), "a\r\nb");
}

TEST(OutputFormat, CutLinesGetTheirNewlineAndAMark) {
  OutputFormat plain(false);
  EXPECT_EQ(plain.format("[0@a] ", "half", messages::CUT), "[0@a]% half\n");
  EXPECT_EQ(plain.format("[0@a] ", "% whole\n", messages::LINES), "[0@a] % whole\n");
  EXPECT_EQ(plain.format("", "half", messages::CUT), "half\n");
  OutputFormat terminal(true);
  EXPECT_EQ(terminal.format("[0@a] ", "half", messages::CUT), "[0@a] half\033[7m%\033[0m\n");
}

TEST(OutputFormat, WhatIsNotRawBeginsItsOwnLine) {
  OutputFormat format(false);
  EXPECT_EQ(format.format("", "half", messages::RAW), "half");
  EXPECT_EQ(format.format("paceline: ", "look\n", messages::LINES), "\npaceline: look\n");
  EXPECT_EQ(format.format("paceline: ", "look\n", messages::LINES), "paceline: look\n");
  EXPECT_EQ(format.format("", "other half\n", messages::RAW), "other half\n");
  EXPECT_EQ(format.format("paceline: ", "look\n", messages::LINES), "paceline: look\n");
}

TEST(OutputFormat, TransientLinesGiveWay) {
  OutputFormat format(true);
  EXPECT_EQ(format.format("[0@a] ", "10%", messages::TRANSIENT), "[0@a] 10%");
  EXPECT_EQ(format.format("[1@a] ", "20%", messages::TRANSIENT), "\r\033[K[1@a] 20%");
  EXPECT_EQ(format.format("[0@a] ", "done\n", messages::LINES), "\r\033[K[0@a] done\n");
  EXPECT_EQ(format.format("[0@a] ", "next\n", messages::LINES), "[0@a] next\n");
  EXPECT_EQ(format.finish(), "");
  EXPECT_EQ(format.format("", "99%", messages::TRANSIENT), "99%");
  EXPECT_EQ(format.finish(), "\n");
  EXPECT_EQ(format.finish(), "");
}

}  // namespace
}  // namespace paceline::launcher
