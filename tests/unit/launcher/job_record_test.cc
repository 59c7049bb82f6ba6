#include <gtest/gtest.h>
#include <unistd.h>

#include "launcher/registry/record.h"

namespace paceline::launcher {
namespace {

JobRecord some_record() {
  return {.id = "0123456789abcdef",
          .host = "alpha",
          .head = {.pid = 77, .start_time = 123456789},
          .begin = TimePoint(std::chrono::seconds(5)),
          .ranks = 8,
          .grace = std::chrono::seconds(10),
          .command = "./train --epochs 3"};
}

TEST(JobRecordTest, ComesBackAsItWas) {
  EXPECT_EQ(parse_record(to_text(some_record())), some_record());
  JobRecord bare = some_record();
  bare.command.clear();
  EXPECT_EQ(parse_record(to_text(bare)), bare);
  bare.cgroup = "/sys/fs/cgroup/a b/paceline-1";
  EXPECT_EQ(parse_record(to_text(bare)), bare);
}

TEST(JobRecordTest, WhatIsMissingOrBentIsRefused) {
  const std::string text = to_text(some_record());
  for (std::size_t end = 0; end + 1 < text.size(); ++end) {
    const auto record = parse_record(text.substr(0, end));
    if (!record) continue;
    EXPECT_TRUE(some_record().command.starts_with(record->command)) << "the last field, cut";
  }
  EXPECT_FALSE(parse_record("id nonsense\n" + text.substr(text.find('\n') + 1)));
  std::string bent = text;
  bent.replace(bent.find("ranks 8"), 7, "ranks x");
  EXPECT_FALSE(parse_record(bent));
  EXPECT_TRUE(parse_record("color blue\n" + text)) << "a field of a later version is skipped";
}

TEST(JobRecordTest, AnIdIsSixteenDigits) {
  EXPECT_TRUE(is_job_id("0123456789abcdef"));
  for (const char* word : {"", "0123456789abcde", "0123456789abcdef0", "0123456789abcdeF", "../..",
                           "0123456789abcde/"})
    EXPECT_FALSE(is_job_id(word)) << word;
}

TEST(JobRecordTest, ACommandIsOneShortHarmlessLine) {
  EXPECT_EQ(command_line({"sh", "-c", "a\nb\x1b[2J"}), "sh -c a?b?[2J");
  EXPECT_EQ(command_line({}), "");
  const std::string line = command_line(std::vector<std::string>(100'000, "word"));
  EXPECT_LT(line.size(), 1100u);
  EXPECT_TRUE(line.ends_with("…"));
  JobRecord record = some_record();
  record.command = line;
  EXPECT_EQ(parse_record(to_text(record)), record);
}

TEST(ProcessIdentityTest, TellsAProcessFromALaterOneOfItsNumber) {
  const auto self = identify(::getpid());
  ASSERT_TRUE(self);
  EXPECT_EQ(self->pid, ::getpid());
  EXPECT_TRUE(open_process(*self));
  EXPECT_FALSE(open_process({.pid = self->pid, .start_time = self->start_time + 1}));
  EXPECT_FALSE(identify(1 << 30));
}

}  // namespace
}  // namespace paceline::launcher
