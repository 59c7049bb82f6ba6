#include "launcher/check/check_options.h"

#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

std::vector<std::string> split(const std::string& line) {
  std::istringstream words(line);
  return {std::istream_iterator<std::string>(words), {}};
}

CheckRequest parsed(const std::string& line) { return parse_check(split(line)).value(); }

std::string refusal(const std::string& line) {
  const Result<CheckRequest> request = parse_check(split(line));
  return request.ok() ? "accepted" : request.status().text();
}

TEST(CheckOptions, NothingIsThisHostAlone) {
  const CheckRequest request = parsed("");
  EXPECT_TRUE(request.job.hosts.empty());
  EXPECT_FALSE(request.quick);
  EXPECT_TRUE(request.orders.both_ways);
}

TEST(CheckOptions, WordsForHostsAreThoseOfRun) {
  const CheckRequest request = parsed("-H node[01-04]:8,a --engine=lab -x NCCL_DEBUG=info --quick");
  EXPECT_EQ(request.job.hosts.size(), 5u);
  EXPECT_EQ(request.job.engine, "lab");
  EXPECT_EQ(request.host_words, (std::vector<std::string>{"-H", "node[01-04]:8,a", "--engine",
                                                          "lab", "-x", "NCCL_DEBUG=info"}));
  EXPECT_TRUE(request.quick);
  EXPECT_FALSE(request.orders.both_ways);
}

TEST(CheckOptions, WhatIsWrong) {
  EXPECT_EQ(refusal("--quikc"),
            "'--quikc' is not an option of paceline check; did you mean '--quick'?");
  EXPECT_EQ(refusal("node1"), "'node1' is no option; hosts stand behind -H, or in a --hostfile");
  EXPECT_EQ(refusal("--json"), "option --json needs a value");
  EXPECT_EQ(refusal("--quick=yes"), "option --quick takes no value");
  EXPECT_EQ(refusal("--from a.json -H b"),
            "--from judges what was measured before; it takes no hosts");
  EXPECT_EQ(refusal("-H a --hostfile b"),
            "-H and --hostfile both say which hosts; give one of them");
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
