#include "launcher/tools/measure/probe/check/schedule.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

namespace paceline::probe {
namespace {

Measurements flows(int hosts, double rate = 100) {
  Measurements measured;
  measured.hosts.resize(static_cast<std::size_t>(hosts));
  for (int a = 0; a < hosts; ++a)
    for (int b = 0; b < hosts; ++b)
      if (a != b) measured.flows.push_back({.from = a, .to = b, .bits_per_s = rate});
  return measured;
}

void slow_down(Measurements& measured, int from, int to, double rate = 50) {
  for (Flow& flow : measured.flows)
    if (flow.from == from && flow.to == to) flow.bits_per_s = rate;
}

TEST(Schedule, RoundsAreDisjointAndNoPairComesTwice) {
  for (int hosts = 1; hosts <= 130; ++hosts) {
    std::set<Pair> pairs;
    std::map<int, int> partners;
    for (const Round& round : first_rounds(hosts)) {
      std::set<int> busy;
      for (const Pair& pair : round) {
        EXPECT_LT(pair.first, pair.second);
        EXPECT_TRUE(busy.insert(pair.first).second && busy.insert(pair.second).second) << hosts;
        EXPECT_TRUE(pairs.insert(pair).second) << hosts;
        ++partners[pair.first], ++partners[pair.second];
      }
      EXPECT_EQ(round.size(), static_cast<std::size_t>(hosts / 2));
    }
    const auto all = static_cast<std::size_t>(hosts * (hosts - 1) / 2);
    if (hosts <= kAllPairsUpTo) {
      EXPECT_EQ(pairs.size(), all);
    }
    for (int host = 0; host < hosts && hosts > kAllPairsUpTo; ++host)
      EXPECT_GE(partners[host], 2 * doublings(hosts) - 1) << host << " of " << hosts;
  }
}

TEST(Schedule, RoundsGrowWithTheLogarithm) {
  EXPECT_EQ(first_rounds(1).size(), 0u);
  EXPECT_EQ(first_rounds(2).size(), 1u);
  EXPECT_EQ(first_rounds(8).size(), 7u);
  EXPECT_EQ(first_rounds(9).size(), 9u) << "one rests each time";
  EXPECT_EQ(first_rounds(1000).size(), 20u);
}

TEST(Schedule, ASlowPairIsMeasuredAgain) {
  Measurements measured = flows(8);
  EXPECT_TRUE(rounds_again(measured, 3).empty());
  slow_down(measured, 5, 2);
  EXPECT_EQ(rounds_again(measured, 3), (std::vector<Round>{{{2, 5}}}));
  measured.flows.push_back({.round = 8, .from = 5, .to = 2, .bits_per_s = 70});
  EXPECT_EQ(rounds_again(measured, 3).size(), 1u) << "another rate: it is not sure";
  measured.flows.push_back({.round = 9, .from = 5, .to = 2, .bits_per_s = 70});
  EXPECT_EQ(rounds_again(measured, 3).size(), 1u) << "twice may be chance";
  measured.flows.push_back({.round = 10, .from = 5, .to = 2, .bits_per_s = 69.5});
  EXPECT_TRUE(rounds_again(measured, 3).empty());
}

TEST(Schedule, TheSlowerWayBetweenTwoHostsIsMeasuredAgain) {
  Measurements measured = flows(2);
  EXPECT_TRUE(rounds_again(measured, 1).empty());
  slow_down(measured, 0, 1);
  EXPECT_EQ(rounds_again(measured, 1), (std::vector<Round>{{{0, 1}}}));
}

TEST(Schedule, SomeOfWhatAHostSendsStandsForTheRest) {
  Measurements measured = flows(8);
  for (int to = 0; to < 8; ++to) slow_down(measured, 3, to);
  EXPECT_EQ(rounds_again(measured, 3), (std::vector<Round>{{{0, 3}}, {{1, 3}}}));
  Measurements sure = measured;
  for (const int round : {7, 8})
    sure.flows.push_back({.round = round, .from = 3, .to = 0, .bits_per_s = 50});
  EXPECT_TRUE(rounds_again(sure, 3).empty());
  slow_down(sure, 1, 3);
  EXPECT_EQ(rounds_again(sure, 3), (std::vector<Round>{{{1, 3}}})) << "the other way is not sure";
  measured.flows.push_back({.round = 7, .from = 3, .to = 0, .bits_per_s = 100});
  EXPECT_EQ(rounds_again(measured, 8).size(), 6u) << "one did better: all others may";
}

TEST(Schedule, WhatDidNotComeIsTriedAgain) {
  Measurements measured = flows(4);
  measured.broken.push_back({.from = 2, .to = 1});
  EXPECT_TRUE(rounds_again(measured, 2).empty()) << "it came in another round";
  std::erase_if(measured.flows, [](const Flow& flow) { return flow.from == 1 && flow.to == 2; });
  EXPECT_EQ(rounds_again(measured, 2), (std::vector<Round>{{{1, 2}}}));
}

TEST(Schedule, RoundsAgainAreBounded) {
  Measurements measured = flows(3);
  for (const auto& [a, b] : {Pair(0, 1), Pair(0, 2), Pair(1, 2)}) slow_down(measured, a, b, 1);
  measured.flows[0].bits_per_s = 1;
  EXPECT_LE(rounds_again(measured, 2).size(), 2u);
}

}  // namespace
}  // namespace paceline::probe
