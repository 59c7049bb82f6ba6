#include "launcher/tools/measure/check/check_json.h"

#include <string>

#include <gtest/gtest.h>

#include "launcher/connectivity/check_record.h"
#include "tests/unit/launcher/planted_check.h"

namespace paceline::launcher {
namespace {

std::string json_refusal(const std::string& text) {
  const Result<probe::Measurements> measured = parse_check_json(text);
  return measured.ok() ? "accepted" : measured.status().text();
}

TEST(CheckJson, WhatWasMeasuredComesBack) {
  probe::Measurements measured = PlantedWorld({.hosts = 5, .egress = 2, .level = 0.4}, 1).measure();
  measured.facts[1].governor = "powersave";
  measured.flows[0].both_ways = true;
  measured.latencies.push_back(
      {.round = 1, .from = 0, .to = 1, .best_us = 9, .median_us = 12, .clock_offset_us = -3});
  measured.broken.push_back({.round = 1, .from = 3, .to = 4, .why = "no \"answer\"\n"});
  measured.reductions.push_back(
      {.hosts = 4, .bytes = 1024, .time_us = 7.5, .wrong = 1, .wire_bits_per_s = 1e6});
  measured.reductions.back().max_us = 9;
  measured.flows[0].segments = 900;
  measured.spins[0].copied_bytes_per_s = 7e9;
  measured.unfit.push_back({.name = "h9", .why = "it is gone", .or_host = "h8"});
  measured.stalls.push_back({.host = 2, .seconds = 3.5});
  measured.notes.emplace_back("all-reduce is not measured");
  const std::string document = check_json(measured, find_on_hosts(measured), judge(measured));
  const Result<probe::Measurements> read = parse_check_json(document);
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(*read, measured);
  EXPECT_EQ(judge(*read), judge(measured));
  EXPECT_NE(document.find("\"host egress\""), std::string::npos);
}

TEST(CheckJson, AnythingElseIsRefused) {
  EXPECT_EQ(json_refusal(""), "not a JSON document");
  EXPECT_EQ(json_refusal("[]"), "not a JSON document");
  const std::string other = "not a document of `paceline check --json` of this version";
  EXPECT_EQ(json_refusal("{}"), other);
  EXPECT_EQ(json_refusal(R"({"paceline_check": "1"})"), other);
  EXPECT_NE(json_refusal(R"({"paceline_check": 1})"), "accepted");
  EXPECT_NE(json_refusal(R"({"paceline_check": 1, "measurements": {"hosts": 3}})"), "accepted");
}

TEST(CheckJson, HostsThatAreNotThere) {
  const std::string begin = R"({"paceline_check": 1, "measurements": {"hosts":)";
  const std::string host = R"([{"name": "a", "facts": {}}], "latencies": [], "broken": [], )";
  const std::string end = R"("all_reduce": [], "notes": [], )";
  EXPECT_EQ(json_refusal(begin + host + end + R"("flows": [], "cpus": []}})"), "accepted");
  EXPECT_EQ(json_refusal(begin + host + end + R"("flows": [], "cpus": [{"host": 1, "use": {}}]}})"),
            "the document has measurements of hosts that it does not list");
  EXPECT_EQ(json_refusal(begin + host + end + R"("cpus": [], "flows": [{"round": 0, "from": 0,
              "to": -1, "bits_per_s": 1, "sender": {}, "receiver": {}}]}})"),
            "the document has measurements of hosts that it does not list");
}

}  // namespace
}  // namespace paceline::launcher
