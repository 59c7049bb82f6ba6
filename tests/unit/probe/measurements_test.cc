#include "launcher/connectivity/measurements.h"

#include <string>

#include <gtest/gtest.h>

namespace paceline::probe {
namespace {

TEST(CheckMeasurements, LinesComeBack) {
  Measurements said{.hosts = {"a", "b"}};
  said.facts = {HostFacts{.cpus_online = 3, .governor = "on demand"}, HostFacts{}};
  said.spins = {{.host = 1,
                 .cpu = {.busy = 0.5, .waiting = 0.25, .throttled = 1},
                 .copied_bytes_per_s = 8e9}};
  said.latencies = {{.round = 2, .from = 0, .to = 1, .best_us = 9.5, .median_us = 11}};
  said.flows = {{.round = 2,
                 .from = 1,
                 .to = 0,
                 .both_ways = true,
                 .bits_per_s = 1e9,
                 .segments = 7000,
                 .retransmits = 3,
                 .window = 12.5,
                 .sender = {.busy = 0.125},
                 .receiver = {.waiting = 0.5}}};
  said.broken = {{.round = 3, .from = 0, .to = 1, .is_silence = true, .why = "no answer came"}};
  said.stalls = {{.host = 1, .seconds = 12.5}};
  said.reductions = {
      {.hosts = 2, .bytes = 8, .time_us = 1.5, .wrong = 4, .wire_bits_per_s = 7, .max_us = 2.5}};
  said.notes = {"that is all"};
  Measurements heard{.hosts = said.hosts};
  for (const std::string& line :
       {to_line(0, said.facts[0]), to_line(1, said.facts[1]), to_line(said.spins[0]),
        to_line(said.latencies[0]), receiver_line(said.flows[0]), sender_line(said.flows[0]),
        to_line(said.broken[0]), to_line(said.stalls[0]), to_line(said.reductions[0]),
        note_line("that is all"), progress_line(1, 2, "links")}) {
    EXPECT_TRUE(take_line(line, heard)) << line;
    EXPECT_LT(line.size(), 4096u);
  }
  said.facts[0].governor = "on_demand";
  EXPECT_EQ(heard, said);
}

TEST(CheckMeasurements, OtherLinesAreNone) {
  Measurements heard{.hosts = {"a", "b"}};
  for (const char* line :
       {"", "hello", "spin", "spin 2 0 0 0 0", "spin 0 0 0 0", "latency 0 0 0 1 1 1",
        "receiver 0 0 2 0 1 0 0 0 0", "receiver 0 0 1 0 x 0 0 0 0", "broken 0 0 5 why", "stall 2 1",
        "stall 0", "host 7 a=b", "reduction 2 8"})
    EXPECT_FALSE(take_line(line, heard)) << line;
  EXPECT_EQ(heard, (Measurements{.hosts = {"a", "b"}}));
}

TEST(CheckMeasurements, WhatOthersWroteStaysOnItsLine) {
  EXPECT_EQ(note_line("one\ntwo"), "note one?two");
  EXPECT_LT(note_line(std::string(10'000, 'x')).size(), 500u);
}

}  // namespace
}  // namespace paceline::probe
