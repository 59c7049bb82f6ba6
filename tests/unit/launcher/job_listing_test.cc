#include <gtest/gtest.h>

#include "launcher/registry/listing.h"

namespace paceline::launcher {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

JobRecord job(const std::string& id, const std::string& command = "./train") {
  return {.id = id,
          .host = "alpha",
          .head = {.pid = 4711, .start_time = 1},
          .begin = TimePoint(seconds(100)),
          .ranks = 8,
          .grace = seconds(10),
          .command = command};
}

const JobRecord kOne = job("3f2a000000000000");
const JobRecord kOther = job("3f2b000000000000");

TEST(JobListingTest, ElapsedTimeIsShort) {
  EXPECT_EQ(elapsed_text(milliseconds(999)), "0 s");
  EXPECT_EQ(elapsed_text(seconds(59)), "59 s");
  EXPECT_EQ(elapsed_text(seconds(200)), "3 min 20 s");
  EXPECT_EQ(elapsed_text(hours(5) + minutes(12)), "5 h 12 min");
  EXPECT_EQ(elapsed_text(hours(51)), "2 d 3 h");
  EXPECT_EQ(elapsed_text(-seconds(5)), "0 s") << "a record of before the last start of the host";
}

TEST(JobListingTest, TheJsonIsForPrograms) {
  EXPECT_EQ(job_json({}, TimePoint(seconds(300))), "[]\n");
  EXPECT_EQ(job_json({{.record = job("3f2a000000000000", "./a \"b\""), .has_head = false}},
                     TimePoint(milliseconds(300'500))),
            "[\n  {\n    \"command\": \"./a \\\"b\\\"\",\n    \"elapsed_s\": 200.5,\n    \"head\": "
            "null,\n    \"host\": \"alpha\",\n    \"id\": \"3f2a000000000000\",\n    \"phase\": "
            "null,\n    \"ranks\": 8\n  }\n]\n");
}

TEST(JobListingTest, TheTableIsAligned) {
  const std::string table = job_table({{.record = kOne}, {.record = kOther, .has_head = false}},
                                      TimePoint(seconds(300)), 1000);
  EXPECT_EQ(table,
            "JOB                 HEAD  RANKS     ELAPSED  COMMAND\n"
            "3f2a000000000000    4711      8  3 min 20 s  ./train\n"
            "3f2b000000000000  ending      8  3 min 20 s  ./train\n");
}

TEST(JobListingTest, LongCommandsAreCutAtWholeCharacters) {
  const auto last_word = [](const std::string& command, std::size_t columns) {
    const std::string table =
        job_table({{.record = job(kOne.id, command)}}, TimePoint(seconds(101)), columns);
    return table.substr(table.find("1 s  ") + 5);
  };
  const std::size_t before = std::string("3f2a000000000000  4711      8      1 s  ").size();
  EXPECT_EQ(last_word("0123456789abc", before + 13), "0123456789abc\n");
  EXPECT_EQ(last_word("0123456789abc", before + 12), "0123456789a…\n");
  EXPECT_EQ(last_word("öööööööööööö", before + 11), "öööööööööö…\n");
  EXPECT_EQ(last_word("0123456789abc", 5), "012345678…\n") << "a narrow terminal";
}

TEST(JobListingTest, APrefixIsEnoughWhereItIsClear) {
  EXPECT_EQ(*find_job({kOne, kOther}, "3f2b"), kOther);
  EXPECT_EQ(*find_job({kOne, kOther}, kOne.id), kOne);
  EXPECT_EQ(*find_job({kOne}, "3"), kOne);
  const std::string ambiguous = find_job({kOne, kOther}, "3f2").status().text();
  EXPECT_NE(ambiguous.find("2 jobs begin with '3f2'"), std::string::npos) << ambiguous;
  EXPECT_NE(ambiguous.find(kOther.id), std::string::npos) << ambiguous;
  const std::string unknown = find_job({kOne}, "77").status().text();
  EXPECT_NE(unknown.find("there is no job '77'; running jobs: 3f2a"), std::string::npos) << unknown;
  EXPECT_NE(find_job({}, "77").status().text().find("you have no jobs"), std::string::npos);
  EXPECT_EQ(*find_job({kOne}, ""), kOne);
  EXPECT_EQ(find_job({kOne, kOther}, "").status().text(),
            "you have 2 jobs; say which: " + kOne.id + ", " + kOther.id);
  EXPECT_EQ(find_job({}, "").status().text(), "you have no jobs on this host");
}

}  // namespace
}  // namespace paceline::launcher
