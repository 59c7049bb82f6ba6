#include "launcher/tools/measure/check/check_report.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/launcher/planted_check.h"
#include "tests/unit/launcher/says.h"

namespace paceline::launcher {
namespace {

TEST(CheckReport, FindingsThatAreAlikeStandOnce) {
  std::vector<Finding> findings;
  for (const char* host : {"a", "b", "c"}) {
    findings.push_back({.host = host, .what = "memory", .found = "8.0 GiB"});
    findings.push_back({.host = host,
                        .what = "governor",
                        .found = "powersave",
                        .expected = "performance",
                        .fine = false,
                        .why = "it is slow",
                        .advice = "change it"});
  }
  const std::string text = findings_text(findings, 3, false);
  EXPECT_TRUE(says(text, "hosts: 3 of 6 settings fine\n")) << text;
  EXPECT_TRUE(says(text, "  all              governor        powersave            performance\n"))
      << text;
  EXPECT_FALSE(says(text, "memory"));
  EXPECT_TRUE(says(findings_text(findings, 3, true), "memory"));
}

TEST(CheckReport, TheVerdictStandsLast) {
  const probe::Measurements measured =
      PlantedWorld({.noise = 0, .hiccups = 0, .ingress = 3, .level = 0.5}, 1).measure();
  EXPECT_EQ(verdict_text(measured, judge(measured)),
            "verdict: DEGRADED, links reach 100 Mbit/s (median; spread 0.0 %)\n"
            "  n3: host ingress, 50.0 Mbit/s; slow from 7 of 7 hosts\n");
}

TEST(CheckReport, AMatrixForAFewHostsAndExtremesForMany) {
  const probe::Measurements few = PlantedWorld({.hosts = 3, .noise = 0, .hiccups = 0}, 1).measure();
  EXPECT_TRUE(says(links_text(few), "  n1      100.0      -  100.0\n")) << links_text(few);
  const probe::Measurements many =
      PlantedWorld({.hosts = 40, .noise = 0, .hiccups = 0, .egress = 4, .level = 0.4}, 1).measure();
  EXPECT_TRUE(says(links_text(many), "slowest 40.0 Mbit/s from n4 to ")) << links_text(many);
  EXPECT_EQ(links_text(PlantedWorld({.hosts = 1}, 1).measure()), "");
}

TEST(CheckReport, ColumnsOfNcclTests) {
  probe::Measurements measured;
  measured.reductions.push_back(
      {.hosts = 4, .bytes = 1'000'000, .time_us = 1000, .wire_bits_per_s = 12e9});
  EXPECT_TRUE(says(reductions_text(measured),
                   "      4     1000000     250000  float32    sum     "
                   "1000.0   1.0000   1.5000       0    12.0000\n"))
      << reductions_text(measured);
}

}  // namespace
}  // namespace paceline::launcher
