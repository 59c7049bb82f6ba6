// Causes of a bad verdict that are no comparison of rates among peers.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "launcher/tools/measure/check/verdict.h"
#include "tests/unit/launcher/planted_check.h"
#include "tests/unit/launcher/says.h"

namespace paceline::launcher {
namespace {

using probe::Flow;
using probe::Measurements;

using Lines = std::vector<std::string>;

Measurements healthy(int hosts, double rate = 100e6) {
  return PlantedWorld({.hosts = hosts, .rate = rate, .noise = 0, .hiccups = 0}, 1).measure();
}

// "n2 packet loss: 2.0 % of packets …"
Lines blamed(const Measurements& measured, const Measurements* baseline = nullptr) {
  Lines all;
  for (const Blame& one : judge(measured, baseline).blames)
    all.push_back(subject_of(one, measured.hosts) + " " + std::string(name(one.fault)) + ": " +
                  one.evidence);
  return all;
}

Lines reasons(const Measurements& measured, const Measurements* baseline = nullptr) {
  return judge(measured, baseline).reasons;
}

void lose(Measurements& measured, double share, bool (*is_lossy)(const Flow&)) {
  for (Flow& flow : measured.flows) {
    flow.segments = 10'000;
    flow.retransmits = flow.segments * (is_lossy(flow) ? share : 0.0002);
  }
}

TEST(CheckCauses, AHostWhosePacketsAreLost) {
  Measurements measured = healthy(6);
  lose(measured, 0.02, [](const Flow& flow) { return flow.from == 2 || flow.to == 2; });
  EXPECT_EQ(blamed(measured), (Lines{"n2 packet loss: 2.0 % of packets to 5 of 5 hosts, 2.0 % of "
                                     "packets from 5 of 5 hosts are sent again"}));
  lose(measured, 0.05, [](const Flow& flow) { return flow.from == 2; });
  EXPECT_EQ(blamed(measured),
            (Lines{"n2 packet loss: 5.0 % of packets to 5 of 5 hosts are sent again"}));
}

TEST(CheckCauses, LossExplainsWhyALinkIsSlow) {
  Measurements measured = healthy(6);
  lose(measured, 0.05, [](const Flow& flow) { return flow.from == 2 && flow.to == 4; });
  for (Flow& flow : measured.flows)
    if (flow.from == 2 && flow.to == 4) flow.bits_per_s /= 3;
  EXPECT_EQ(blamed(measured), (Lines{"n2 -> n4 packet loss: 5.0 % of its packets are sent again"}));
}

// So much is lost in one direction that hardly anything was sent, and nothing can be counted.
TEST(CheckCauses, LossOfAHostExplainsDirectionsWithTooFewSegments) {
  Measurements measured = healthy(6);
  lose(measured, 0.05, [](const Flow& flow) { return flow.from == 2; });
  for (Flow& flow : measured.flows) {
    if (flow.from != 2 || flow.to != 4) continue;
    flow.bits_per_s /= 30;
    flow.segments = 100;
    flow.retransmits = 20;
  }
  EXPECT_EQ(blamed(measured),
            (Lines{"n2 packet loss: 5.0 % of packets to 4 of 4 hosts are sent again"}));
}

TEST(CheckCauses, SomePacketsThatAreSentAgainAreNoLoss) {
  Measurements measured = healthy(6);
  lose(measured, 0.02, [](const Flow& flow) { return flow.from == 2 && flow.to == 4; });
  for (Flow& flow : measured.flows) {
    flow.segments = 200;
    flow.retransmits = flow.retransmits > 100 ? 4 : 0;
  }
  EXPECT_EQ(blamed(measured), Lines{});
}

TEST(CheckCauses, LossExplainsWhyNothingPassedForAWhile) {
  Measurements measured = healthy(6);
  lose(measured, 0.05, [](const Flow& flow) { return flow.from == 2 || flow.to == 2; });
  const auto broken = [](int from, int to, bool is_silence) {
    return probe::Broken{.from = from, .to = to, .is_silence = is_silence, .why = "why"};
  };
  measured.broken = {broken(4, 2, true), broken(2, 5, true)};
  measured.reductions = {{.hosts = 6, .bytes = 8, .time_us = 1e5, .max_us = 5e6}};
  EXPECT_EQ(blamed(measured), (Lines{"n2 packet loss: 5.0 % of packets to 5 of 5 hosts, 5.0 % of "
                                     "packets from 5 of 5 hosts are sent again"}));
  measured.broken = {broken(4, 3, true)};
  EXPECT_EQ(blamed(measured).size(), 2u) << "neither host loses packets";
  measured.broken = {broken(4, 2, false)};
  EXPECT_EQ(blamed(measured).size(), 2u) << "no loss closes a connection";
}

TEST(CheckCauses, QueuesThatOverflowEverywhereAreNoLoss) {
  Measurements measured = healthy(6);
  lose(measured, 0.01, [](const Flow&) { return true; });
  EXPECT_EQ(blamed(measured), Lines{});
  measured = healthy(2);
  lose(measured, 0.05, [](const Flow&) { return true; });
  EXPECT_EQ(blamed(measured).size(), 2u) << "so much needs no comparison";
}

// With 2 % of its packets lost at random, TCP does not get beyond a window of about 9.
TEST(CheckCauses, TheQueueOfASlowLinkIsNoLoss) {
  Measurements measured = healthy(6);
  lose(measured, 0.02, [](const Flow& flow) { return flow.from == 2 && flow.to == 4; });
  for (Flow& flow : measured.flows) {
    flow.window = 90;
    if (flow.from == 2 && flow.to == 4) flow.bits_per_s *= 0.7;
  }
  EXPECT_EQ(blamed(measured),
            (Lines{"n2 -> n4 pair: each of the two hosts has normal rates with all other hosts"}));
  for (Flow& flow : measured.flows) flow.window = 9;
  EXPECT_EQ(blamed(measured), (Lines{"n2 -> n4 packet loss: 2.0 % of its packets are sent again"}));
}

TEST(CheckCauses, ABaselineShowsThatAllLinksAreSlow) {
  const Measurements before = healthy(4), now = healthy(4, 30e6);
  EXPECT_EQ(judge(now).state, CheckState::kOk) << "they are alike";
  EXPECT_EQ(blamed(now, &before),
            (Lines{"all hosts all links: the baseline has 100 Mbit/s (median of 12 links)"}));
  EXPECT_EQ(judge(before, &before).state, CheckState::kOk);
  Measurements busy = now;
  for (Flow& flow : busy.flows) flow.sender = {.busy = 0.5, .waiting = 0.5};
  EXPECT_EQ(blamed(busy, &before), Lines());
  EXPECT_EQ(judge(busy, &before).state, CheckState::kUnknown);
  EXPECT_EQ(reasons(busy, &before)[0],
            "the baseline has 100 Mbit/s (median of 12 links), but CPUs bound the flows");
}

TEST(CheckCauses, ABaselineShowsALinkOfOneHostAmongUnlikeLinks) {
  Measurements before = healthy(4);
  for (Flow& flow : before.flows) flow.bits_per_s *= 1 + 0.3 * flow.from;
  EXPECT_EQ(judge(before).state, CheckState::kUnknown) << "the rates lie too far apart";
  EXPECT_EQ(judge(before, &before).state, CheckState::kOk);
  Measurements now = before;
  for (Flow& flow : now.flows)
    if (flow.from == 3) flow.bits_per_s *= 0.7;
  EXPECT_EQ(judge(now, &before).blames.size(), 1u);
  EXPECT_EQ(judge(now, &before).blames[0].fault, Fault::kHostEgress);
  EXPECT_EQ(judge(now, &before).blames[0].host, 3);
  EXPECT_TRUE(says(reasons(now, &before)[0], "3 of 12 links are slower than in the baseline"));
}

TEST(CheckCauses, HostsOfABaselineAreKnownByTheirNames) {
  Measurements before = healthy(4, 200e6), now = healthy(3);
  now.hosts = {"n3", "n1", "n0"};
  EXPECT_EQ(blamed(now, &before),
            (Lines{"all hosts all links: the baseline has 200 Mbit/s (median of 6 links)"}));
  now.hosts = {"n1", "n3", "other"};
  EXPECT_EQ(blamed(now, &before), (Lines{"n1 <-> n3 pair: the baseline has 200 Mbit/s"}))
      << "two of six links do not stand for all";
  now.hosts = {"x", "y", "z"};
  EXPECT_EQ(reasons(now, &before), (Lines{"the baseline has no link between these hosts"}));
  EXPECT_EQ(judge(now, &before).state, CheckState::kUnknown);
}

TEST(CheckCauses, AHostThatCannotTakePartIsNamedFirst) {
  Measurements measured = healthy(3);
  measured.unfit.push_back({.name = "h8", .why = "no agent connected within 30 s"});
  EXPECT_EQ(blamed(measured), (Lines{"h8 cannot run jobs: no agent connected within 30 s"}));
  EXPECT_EQ(judge(measured).state, CheckState::kDegraded);
  measured.unfit[0].name = "n1";
  measured.broken.push_back({.from = 1, .to = 2, .why = "no answer"});
  EXPECT_EQ(blamed(measured).size(), 1u) << "all that it broke is explained";
  measured.unfit[0] = {.name = "h8", .why = "no data (no answer)", .or_host = "n2"};
  EXPECT_EQ(blamed(measured)[0], "n2 <-> h8 pair broken: h8 was left out; no data (no answer)");
  const Measurements before = healthy(4, 300e6);
  Measurements now = healthy(4, 300e6);
  for (Flow& flow : now.flows)
    if (flow.from == 1) flow.bits_per_s /= 2;
  now.unfit.push_back({.name = "n1", .why = "it was lost"});
  EXPECT_EQ(blamed(now, &before), Lines{"n1 cannot run jobs: it was lost"});
  EXPECT_EQ(judge({.unfit = {{.name = "h1", .why = "w"}}}).state, CheckState::kDegraded);
}

TEST(CheckCauses, ForeignLoadIsNamedWithTheRatesThatItExplains) {
  Measurements measured = healthy(8);
  measured.facts[5].load = 12.25;
  measured.facts[5].cpus_online = 2;
  for (Flow& flow : measured.flows) {
    if (flow.from != 5) continue;
    flow.bits_per_s = 60e6;
    flow.sender = {.busy = 0.35, .waiting = 0.6};
  }
  EXPECT_EQ(blamed(measured), (Lines{"n5 CPU-bound, not link-bound: its thread was on a CPU 35 % "
                                     "of the time, and waited for one 60 %: other programs use its "
                                     "CPUs (load average 12.2 on 2 CPUs before the check)"}));
  EXPECT_EQ(judge(measured).blames[0].found_bits_per_s, 60e6);
}

TEST(CheckCauses, FlowsThatWaitedForCpusSayNothingAboutLinks) {
  Measurements measured = healthy(6);
  for (Flow& flow : measured.flows) {
    flow.sender = {.busy = 0.9, .waiting = 0.1};
    if (flow.from == 1 && flow.to == 4) flow.bits_per_s = 50e6;
  }
  EXPECT_EQ(blamed(measured), Lines{});
  EXPECT_EQ(judge(measured).state, CheckState::kUnknown);
  EXPECT_TRUE(says(reasons(measured)[0], "1 slow flow is no evidence")) << reasons(measured)[0];
}

}  // namespace
}  // namespace paceline::launcher
