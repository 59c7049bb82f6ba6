#include "launcher/head/output_format.h"

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

TEST(OutputFormat, ATagMayHaveTheTimeOfDay) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  const auto time =
      std::chrono::hours(24 * 365 + 13) + std::chrono::minutes(5) + std::chrono::milliseconds(7250);
  EXPECT_EQ(timed_tag("[2@node1] ", time), "[2@node1 13:05:07.250] ");
  ::unsetenv("TZ");
  ::tzset();
}

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

TEST(OutputFormat, APromptIsContinuedByItsRank) {
  OutputFormat format(true);
  EXPECT_EQ(format.format("[0@a] ", "name?", messages::PROMPT), "[0@a] name?");
  EXPECT_EQ(format.format("[0@a] ", "name? ", messages::PROMPT), " ");
  EXPECT_EQ(format.format("[0@a] ", "name? so\nnext\n", messages::LINES), "so\n[0@a] next\n");
  EXPECT_EQ(format.format("[0@a] ", "new\n", messages::LINES), "[0@a] new\n");
}

TEST(OutputFormat, APromptIsContinuedAtAnotherTime) {
  OutputFormat format(true);
  EXPECT_EQ(format.format("[0@a 13:05:07.250] ", "name?", messages::PROMPT),
            "[0@a 13:05:07.250] name?");
  EXPECT_EQ(format.format("[0@a 13:05:08.000] ", "name? so\n", messages::LINES), " so\n");
}

TEST(OutputFormat, OtherTextBeginsBelowAPrompt) {
  OutputFormat format(true);
  EXPECT_EQ(format.format("[0@a] ", "name? ", messages::PROMPT), "[0@a] name? ");
  EXPECT_EQ(format.format("[1@a] ", "line\n", messages::LINES), "\n[1@a] line\n");
  EXPECT_EQ(format.format("[0@a] ", "name? ", messages::PROMPT), "[0@a] name? ");
  EXPECT_EQ(format.finish(), "\n");
  EXPECT_EQ(format.finish(), "");
}

TEST(OutputFormat, TheEchoOfANewlineEndsThePrompt) {
  OutputFormat format(true);
  EXPECT_EQ(format.format("[0@a] ", "name? ", messages::PROMPT), "[0@a] name? ");
  EXPECT_EQ(format.echo("yo"), "yo");
  EXPECT_EQ(format.echo("u\n"), "u\n");
  EXPECT_EQ(format.format("[0@a] ", "you\n", messages::LINES), "[0@a] you\n");
  EXPECT_EQ(format.echo("begun"), "begun");
  EXPECT_EQ(format.format("[1@a] ", "line\n", messages::LINES), "\n[1@a] line\n");
}

}  // namespace
}  // namespace paceline::launcher
