#include "launcher/tools/measure/check/check_options.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/launcher/parsing.h"

namespace paceline::launcher {
namespace {

CheckRequest check_of(const std::string& line) { return accepted(parse_check(words_of(line))); }

std::string check_refusal(const std::string& line) {
  return refusal_of(parse_check(words_of(line)));
}

TEST(CheckOptions, NothingIsThisHostAlone) {
  const CheckRequest request = check_of("");
  EXPECT_TRUE(request.job.hosts.empty());
  EXPECT_FALSE(request.quick);
  EXPECT_TRUE(request.orders.both_ways);
}

TEST(CheckOptions, WordsForHostsAreThoseOfRun) {
  const CheckRequest request =
      check_of("-H node[01-04]:8,a --engine=lab -x NCCL_DEBUG=info --quick");
  EXPECT_EQ(request.job.hosts.size(), 5u);
  EXPECT_EQ(request.job.engine, "lab");
  const ProgramSpec& program = request.job.programs.front();
  EXPECT_EQ(program.environment,
            (std::vector<EnvironmentSetting>{{.name = "NCCL_DEBUG", .value = "info"}}));
  EXPECT_TRUE(program.command.empty());
  EXPECT_TRUE(request.quick);
  EXPECT_FALSE(request.orders.both_ways);
}

TEST(CheckOptions, WhatIsWrong) {
  EXPECT_EQ(check_refusal("--quikc"),
            "'--quikc' is not an option of paceline check; did you mean '--quick'?");
  EXPECT_EQ(check_refusal("node1"), "'node1' is not an option; use -H or --hostfile for hosts");
  EXPECT_EQ(check_refusal("--json"), "option --json needs a value");
  EXPECT_EQ(check_refusal("--quick=yes"), "option --quick takes no value");
  EXPECT_EQ(check_refusal("--from a.json -H b"),
            "--from judges an earlier measurement; leave out the hosts");
  EXPECT_EQ(check_refusal("-H a --hostfile b"),
            "-H and --hostfile both select hosts; use one of them");
}

TEST(CheckOptions, HelpIsOneScreen) {
  std::istringstream lines(check_help());
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    EXPECT_LE(line.size(), 100u) << line;
    EXPECT_LE(number, 50);
  }
}

}  // namespace
}  // namespace paceline::launcher
