#include "launcher/tools/lab/lab_options.h"

#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/launcher/parsing.h"

namespace paceline::launcher {
namespace {

LabRequest lab_of(const std::string& line) { return accepted(parse_lab(words_of(line))); }

std::string lab_refusal(const std::string& line) { return refusal_of(parse_lab(words_of(line))); }

TEST(LabOptions, Up) {
  EXPECT_EQ(lab_of("up").plan, LabPlan());
  EXPECT_EQ(lab_of("up --name two --hosts 2 --slots=3 --rate 1gbit --rails 2 --rate2 300mbit "
                   "--delay 200us --ssh")
                .plan,
            (LabPlan{.name = "two",
                     .hosts = 2,
                     .slots = 3,
                     .rates_bits = {1'000'000'000, 300'000'000},
                     .delay = std::chrono::microseconds(200),
                     .ssh = true}));
  EXPECT_EQ(lab_of("up --rails 2 --rate 1mbit").plan.rates_bits,
            (std::vector<std::int64_t>{1'000'000, 1'000'000}));
}

TEST(LabOptions, UpRefuses) {
  EXPECT_EQ(lab_refusal("up --hosts 65"), "--hosts: '65' is not a number of hosts from 1 to 64");
  EXPECT_EQ(lab_refusal("up --rate2 1mbit"), "--rate2 is for the second network; add --rails 2");
  EXPECT_EQ(lab_refusal("up --host 2"), "'lab up' has no option '--host'; did you mean '--hosts'?");
  EXPECT_EQ(lab_refusal("up --rate"), "--rate needs a value");
  EXPECT_EQ(lab_refusal("up --ssh=1"), "--ssh takes no value");
  EXPECT_EQ(lab_refusal("up 4"), "'lab up' does not take '4'");
  EXPECT_EQ(lab_refusal("up --name a/b"),
            "--name: 'a/b' is not a lab name; use 1 to 16 of a-z, 0-9 and -");
}

TEST(LabOptions, ExecKeepsItsCommand) {
  const LabRequest request = lab_of("exec --name two h1 -- ls --name x -- --help");
  EXPECT_EQ(request.plan.name, "two");
  EXPECT_EQ(request.host, "h1");
  EXPECT_EQ(request.command, words_of("ls --name x -- --help"));
  EXPECT_EQ(lab_of("exec h1 ls -l").command, words_of("ls -l"));
  const LabRequest late = lab_of("exec h1 --name two -- ls");
  EXPECT_EQ(late.plan.name, "two");
  EXPECT_EQ(late.command, words_of("ls"));
  EXPECT_EQ(lab_refusal("exec h1 --nam two -- ls"),
            "'lab exec' has no option '--nam'; did you mean '--name'?");
  EXPECT_EQ(lab_refusal("exec"), "'lab exec' needs a HOST");
  EXPECT_EQ(lab_refusal("exec -- ls"), "'lab exec' needs a HOST");
  EXPECT_EQ(lab_refusal("exec h1 --"), "'lab exec' needs a program after the host");
}

TEST(LabOptions, Trouble) {
  const LabRequest slow = lab_of("slow h2 10mbit --egress --rail 2 --name two");
  EXPECT_EQ(slow.action, LabAction::kSlow);
  EXPECT_EQ(slow.fault.host, "h2");
  EXPECT_EQ(slow.fault.rate_bits, 10'000'000);
  EXPECT_TRUE(slow.fault.egress && !slow.fault.ingress);
  EXPECT_EQ(slow.fault.rail, 1);
  EXPECT_EQ(lab_of("drop all 2.5%").fault.host, "");
  EXPECT_EQ(lab_of("drop h1 2.5%").fault.loss_thousandths, 2'500);
  EXPECT_EQ(lab_of("mtu h1 900").fault.mtu, 900);
  EXPECT_EQ(lab_of("cpu h1 0.5").fault.cpu_thousandths, 500);
  EXPECT_EQ(lab_of("heal").action, LabAction::kHeal);
  EXPECT_EQ(lab_of("heal h3").fault.host, "h3");
  EXPECT_EQ(lab_of("status").action, LabAction::kList);
}

TEST(LabOptions, TroubleRefuses) {
  EXPECT_EQ(lab_refusal("slow h1"), "'lab slow' needs a RATE after the host");
  EXPECT_EQ(lab_refusal("cut"), "'lab cut' needs a HOST");
  EXPECT_EQ(lab_refusal("cut h1 h2"), "'lab cut' does not take 'h2'");
  EXPECT_EQ(lab_refusal("pause h1 --rail 1"), "'lab pause' has no option '--rail'");
  EXPECT_EQ(lab_refusal("slow h1 1mbit --egress --ingress"),
            "--egress and --ingress exclude each other; leave out both for both directions");
  EXPECT_EQ(lab_refusal("drop h1 much"), "drop: 'much' is not a percentage from 0 to 100");
  EXPECT_EQ(lab_of("slow h1 5mbit --peer h2").fault.peer, "h2");
  EXPECT_EQ(lab_refusal("slow h1 5mbit --peer h1"), lab_refusal("slow all 5mbit --peer h2"));
  EXPECT_EQ(lab_refusal("slow h1 5mbit --peer h1"),
            "--peer must name another host, and needs one HOST");
  EXPECT_EQ(lab_refusal("slwo h1"), "unknown lab command 'slwo'; did you mean 'slow'?");
  EXPECT_EQ(lab_refusal(""), "'lab' needs a command: up, list, down or another");
}

TEST(LabOptions, Help) {
  for (const char* line : {"", "--help", "up --help", "exec -h", "exec --name x -h"})
    EXPECT_TRUE(lab_asks_for_help(words_of(line))) << line;
  for (const char* line : {"up", "exec h1 ls --help", "exec h1 -- -h"})
    EXPECT_FALSE(lab_asks_for_help(words_of(line))) << line;
  std::istringstream lines(lab_help());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 101u) << line;
}

}  // namespace
}  // namespace paceline::launcher
