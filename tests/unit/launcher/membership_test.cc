#include "launcher/job/membership.h"

#include <string>

#include <gtest/gtest.h>

#include "launcher/job/job_machine.h"

namespace paceline::launcher {
namespace {

const MembershipJob kJob{.command = "train.py --lr 0.1", .ranks = 3};
const EpochBegins kFirst{
    .epoch = 0, .members = {{.host = "h1", .workers = {0, 1}}, {.host = "h2", .workers = {2}}}};
const HostLost kLost{.epoch = 0, .host = "h2", .why = "the agent is \"gone\"\n"};
const EpochEnds kEnds{.epoch = 0, .why = "rank 2 failed"};
const EpochBegins kSecond{.epoch = 1, .members = {{.host = "h1", .workers = {0, 1, 2}}}};

std::string whole_log() {
  return membership_header(kJob) + membership_line(kFirst) + membership_line(kLost) +
         membership_line(kEnds) + membership_line(kSecond);
}

std::string error_of(const std::string& text) {
  const auto log = parse_membership_log(text, kJob);
  return log.ok() ? "" : std::string(log.status().text());
}

TEST(Membership, TextKeepsAllEntries) {
  const std::string text = whole_log();
  const auto log = parse_membership_log(text, kJob);
  ASSERT_TRUE(log.ok()) << log.status().text();
  EXPECT_EQ(*log->members.last(), kSecond);
  EXPECT_TRUE(log->members.is_running());
  EXPECT_EQ(log->members.next_epoch(), 2u);
  EXPECT_EQ(log->whole_bytes, text.size());
}

// Wherever the head is killed while it writes, what was whole before is known.
TEST(Membership, EveryPrefixIsReadUpToItsLastWholeLine) {
  const std::string text = whole_log();
  for (std::size_t bytes = 0; bytes <= text.size(); ++bytes) {
    const std::string prefix = text.substr(0, bytes);
    const auto log = parse_membership_log(prefix, kJob);
    ASSERT_TRUE(log.ok()) << bytes << ": " << log.status().text();
    const std::size_t last_newline = prefix.rfind('\n');
    EXPECT_EQ(log->whole_bytes, last_newline == prefix.npos ? 0 : last_newline + 1);
    const bool has_first = prefix.find(membership_line(kFirst)) != prefix.npos;
    const bool has_second = bytes == text.size();
    EXPECT_EQ(log->members.next_epoch(), has_second ? 2u : has_first ? 1u : 0u) << bytes;
  }
}

TEST(Membership, AnotherJobIsRefusedByName) {
  const std::string other = membership_header({.command = "eval.py", .ranks = 8});
  EXPECT_EQ(error_of(other), "it is the log of another job, with 8 ranks: eval.py");
}

TEST(Membership, AnotherFileIsNotTakenForALog) {
  for (const std::string text : {"x", "import torch\n", "{}\n", "{\"paceline_membership\": 2}\n"})
    EXPECT_EQ(error_of(text), "it is not a membership log of this version of paceline") << text;
}

TEST(Membership, ErrorsNameTheLine) {
  const std::string begin = membership_header(kJob) + membership_line(kFirst);
  EXPECT_EQ(error_of(begin + "{\"ends\": 0}\n"), "line 3: it is not an entry of a membership log");
  EXPECT_EQ(error_of(begin + "\n"), "line 3: it is not an entry of a membership log");
  EXPECT_EQ(error_of(begin + membership_line(EpochBegins{.epoch = 2})),
            "line 3: the begin of epoch 2 cannot follow the entries before it");
  EXPECT_EQ(error_of(begin + membership_line(HostLost{.epoch = 1, .host = "h1"})),
            "line 3: the loss of a host of epoch 1 cannot follow the entries before it");
  EXPECT_EQ(error_of(begin + membership_line(kEnds) + membership_line(kEnds)),
            "line 4: the end of epoch 0 cannot follow the entries before it");
}

// A head that was killed has not written the end.
TEST(Membership, AnEpochMayFollowOneWithoutAnEnd) {
  EXPECT_EQ(error_of(membership_header(kJob) + membership_line(kFirst) + membership_line(kSecond)),
            "");
}

TEST(Membership, NoHostStartsIfTheEpochCannotBeRecorded) {
  JobMachine machine({.first_epoch = 7}, {{.name = "a", .ranks = {0}}});
  const TimePoint now{std::chrono::seconds(1)};
  const auto first = machine.handle(now, JobBegins{});
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(std::get<EpochBegins>(std::get<Record>(first.front()).entry).epoch, 7u);
  bool ends = false;
  for (const JobCommand& command : machine.handle(
           now, EpochRecorded{Status(Code::kUnavailable, Scope::kProcess, "the disk is full")})) {
    EXPECT_FALSE(std::holds_alternative<StartHost>(command));
    EXPECT_FALSE(std::holds_alternative<Record>(command));
    ends = ends || std::holds_alternative<EndJob>(command);
  }
  EXPECT_TRUE(ends);
  EXPECT_EQ(exit_code(machine.state().outcome), 125);
}

}  // namespace
}  // namespace paceline::launcher
