#include "launcher/options/fault_script.h"

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>

namespace paceline::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

FaultSpec read(const std::string& line) {
  const auto faults = parse_fault_script(line, "f");
  EXPECT_TRUE(faults.ok()) << faults.status().text();
  return faults.ok() && !faults->empty() ? faults->front() : FaultSpec();
}

std::string refusal(const std::string& text) {
  const auto faults = parse_fault_script(text, "f");
  return faults.ok() ? "" : std::string(faults.status().text());
}

TEST(FaultScript, ALineSaysWhenWhatAndWhom) {
  FaultSpec expected{.line = 1,
                     .text = "after 2.5s: stop rank 3 for 300ms",
                     .after = milliseconds(2500),
                     .kind = FaultKind::kStop,
                     .rank = 3,
                     .lasts = milliseconds(300)};
  EXPECT_EQ(read("  after 2.5s: stop rank 3 for 300ms  # a comment\r\n"), expected);
}

TEST(FaultScript, EachKind) {
  EXPECT_EQ(read("after 1s: kill rank 3").kind, FaultKind::kKill);
  EXPECT_EQ(read("after 1s: kill host h2").host, "h2");
  EXPECT_EQ(read("after 1s: slow rank 2 to 20% for 10s").percent, 20);
  EXPECT_EQ(read("after 1s: signal rank 0 USR1").signal, SIGUSR1);
  EXPECT_EQ(read("after 1s: signal rank 0 SIGTERM").signal, SIGTERM);
  const FaultSpec fill = read("after 1s: fill /scratch on host h2 for 5s");
  EXPECT_EQ(fill.kind, FaultKind::kFill);
  EXPECT_EQ(fill.path, "/scratch");
  EXPECT_EQ(fill.host, "h2");
  EXPECT_EQ(fill.lasts, seconds(5));
  const FaultSpec exit = read("at operation 100: exit rank 3 with 7");
  EXPECT_EQ(exit.kind, FaultKind::kExit);
  EXPECT_EQ(exit.rank, 3);
  EXPECT_EQ(exit.watched_rank, 3);
  EXPECT_EQ(exit.exit_code, 7);
}

TEST(FaultScript, ALinkHasADirectionOrBoth) {
  const FaultSpec delay = read("after 1s: delay 20ms from host h1 to h2 for 5s");
  EXPECT_EQ(delay.kind, FaultKind::kDelay);
  EXPECT_EQ(delay.delay, milliseconds(20));
  EXPECT_EQ(delay.host, "h1");
  EXPECT_EQ(delay.to_host, "h2");
  EXPECT_FALSE(delay.both_ways);
  EXPECT_EQ(delay.lasts, seconds(5));
  const FaultSpec drop = read("after 1s: drop 0.5% between hosts h1 and h2");
  EXPECT_EQ(drop.kind, FaultKind::kDrop);
  EXPECT_EQ(drop.percent, 0.5);
  EXPECT_EQ(drop.host, "h1");
  EXPECT_EQ(drop.to_host, "h2");
  EXPECT_TRUE(drop.both_ways);
  EXPECT_EQ(read("at operation 7 of rank 1: drop 5% from host h1 to h2").watched_rank, 1);
  EXPECT_EQ(read("after 1s: drop 100% from host h1 to h2").percent, 100);
}

TEST(FaultScript, AnOperationIsThatOfARank) {
  const FaultSpec own = read("at operation 0: kill rank 3");
  EXPECT_EQ(own.operation, 0u);
  EXPECT_EQ(own.watched_rank, 3);
  EXPECT_EQ(read("at operation 7 of rank 1: kill rank 3").watched_rank, 1);
  EXPECT_EQ(read("in restart 2, at operation 7 of rank 1: stop host h").restart, 2u);
}

TEST(FaultScript, AMistakeIsNamedWithItsLine) {
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {"kill rank 0", "'after' or 'at operation' is missing before 'kill'"},
      {"after 1s kill rank 0", "':' is missing before 'kill'"},
      {"after soon: kill rank 0", "'soon' is not a time"},
      {"after 1s: kill", "'rank' or 'host' is missing at the end"},
      {"after 1s: kill rank -1", "the rank '-1' is not a whole number from 0 to 1000000000"},
      {"after 1s: kill rank 99999999", "there is no rank 99999999"},
      {"after 1s: kill rank 0 for 1s", "only stop, slow, fill, delay and drop take 'for'"},
      {"after 1s: stop host h for 1s", "a stopped host cannot continue"},
      {"after 1s: slow host h to 5%", "'rank' is missing before 'host'"},
      {"after 1s: slow rank 0 to 0%", "'0%' is not a percentage from 1% to 99%"},
      {"after 1s: signal rank 0 KILL", "'KILL' is not one of the signals"},
      {"after 1s: fill tmp on host h", "the folder must begin with '/'"},
      {"after 1s: exit rank 0", "'with' is missing at the end"},
      {"after 1s: exit host h with 1", "'rank' is missing before 'host'"},
      {"after 1s: exit rank 0 with 256", "the exit code '256' is not a whole number from 0 to 255"},
      {"after 1s: delay 0ms from host a to b", "the delay '0ms' is not allowed; use more than 0"},
      {"after 1s: delay 61s from host a to b", "the delay '61s' is not allowed; use more than 0"},
      {"at operation 5 of rank 0: drop 5% between hosts a and b", "'between' needs a time"},
      {"after 1s: delay 1ms host a to b", "'from' or 'between' is missing before 'host'"},
      {"after 1s: delay 1ms from host a b", "'to' is missing before 'b'"},
      {"after 1s: delay 1ms between hosts a and a", "a link needs two hosts"},
      {"after 1s: drop 5 from host a to b", "'5' is not a percentage from 0.001% to 100%"},
      {"after 1s: drop 0% from host a to b", "'0%' is not a percentage from 0.001% to 100%"},
      {"after 1s: drop nan% from host a to b", "'nan%' is not a percentage"},
      {"after 1s: drop 5% from rank 0 to 1", "'host' is missing before 'rank'"},
      {"after 1s: explode rank 0", "is missing before 'explode'"},
      {"at operation 5: kill host h", "say whose operation it is"},
      {"in restart 0, after 1s: kill rank 0", "the restart '0' is not a whole number from 1 to"},
      {"after 1s: kill rank 0 now", "the end of the line is expected before 'now'"}};
  for (const auto& [line, why] : mistakes) {
    const std::string said = refusal("# a comment\n\n" + line + "\n");
    EXPECT_EQ(said.find("f, line 3: "), 0u) << said;
    EXPECT_NE(said.find(why), std::string::npos) << said;
  }
}

TEST(FaultScript, HasABound) {
  std::string text;
  for (std::size_t i = 0; i <= kMaxFaults; ++i) text += "after 1s: kill rank 0\n";
  EXPECT_NE(refusal(text).find("more than 1000 faults"), std::string::npos);
}

}  // namespace
}  // namespace paceline::launcher
