#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "comm/base/read_file.h"
#include "launcher/connectivity/check_record.h"
#include "launcher/tools/measure/check/verdict.h"
#include "tests/unit/launcher/planted_check.h"

namespace paceline::launcher {
namespace {

constexpr int kTrials = 200;
constexpr double kLevels[] = {0.7, 0.4};

Verdict verdict_of(const PlantedCheck& planted, std::uint64_t seed = 1) {
  return judge(PlantedWorld(planted, seed).measure());
}

// `paceline check --quick --json` of 8 healthy lab hosts with links of 100 Mbit/s, on 2 cores that
// others kept busy at the time; the hosts' facts and what follows from measurements are left out.
const probe::Measurements& recorded() {
  static const probe::Measurements measured = [] {
    const std::string file = PACELINE_RECORDED "/check_of_8_hosts.json";
    return parse_check_json(read_file(file)).value();
  }();
  return measured;
}

Verdict recorded_verdict(const PlantedCheck& planted, std::uint64_t seed) {
  return judge(PlantedWorld(planted, seed, &recorded()).measure());
}

// Whom a verdict blames, and of what: "n2 host egress".
std::vector<std::string> blamed(const Verdict& verdict, int hosts) {
  std::vector<std::string> names;
  for (int host = 0; host < hosts; ++host) names.push_back("n" + std::to_string(host));
  std::vector<std::string> all;
  for (const Blame& blame : verdict.blames)
    all.push_back(subject_of(blame, names).append(" ").append(name(blame.fault)));
  return all;
}

using Expected = std::vector<std::string>;

// The trials that do not blame just what was planted. `plant` also says what that is.
std::vector<std::string> wrong_trials(
    const std::function<std::string(PlantedCheck&, Random&)>& plant) {
  std::vector<std::string> wrong;
  for (std::uint64_t seed = 0; seed < kTrials; ++seed) {
    Random random(seed);
    PlantedCheck planted{.level = kLevels[seed % 2]};
    const std::string expected = plant(planted, random);
    const Verdict verdict = recorded_verdict(planted, seed);
    if (blamed(verdict, planted.hosts) != Expected{expected})
      wrong.push_back("seed " + std::to_string(seed) + ", " + expected);
  }
  return wrong;
}

void expect_most_right(const std::function<std::string(PlantedCheck&, Random&)>& plant) {
  const std::vector<std::string> wrong = wrong_trials(plant);
  ::testing::Test::RecordProperty("wrong_trials", static_cast<int>(wrong.size()));
  EXPECT_LE(wrong.size(), 0.05 * kTrials) << ::testing::PrintToString(wrong);
}

std::string host_of(int host) { return "n" + std::to_string(host); }
int any_host(Random& random, const PlantedCheck& planted) {
  return static_cast<int>(random.below(static_cast<std::uint64_t>(planted.hosts)));
}

TEST(CheckVerdict, RecordedHostsAreHealthy) {
  const Verdict verdict = judge(recorded());
  EXPECT_EQ(verdict.state, CheckState::kOk);
  EXPECT_NEAR(verdict.expected_bits_per_s, 95.6e6, 0.1e6);
}

TEST(CheckVerdict, HealthyHostsAreHardlyEverBlamed) {
  int alarms = 0;
  for (std::uint64_t seed = 0; seed < kTrials; ++seed)
    alarms += recorded_verdict({}, seed).state != CheckState::kOk;
  RecordProperty("false_alarms", alarms);
  EXPECT_LE(alarms, kTrials / 100);
}

TEST(CheckVerdict, ASlowEgressIsNamed) {
  expect_most_right([](PlantedCheck& planted, Random& random) {
    planted.egress = any_host(random, planted);
    return host_of(planted.egress) + " host egress";
  });
}

TEST(CheckVerdict, ASlowIngressIsNamed) {
  expect_most_right([](PlantedCheck& planted, Random& random) {
    planted.ingress = any_host(random, planted);
    return host_of(planted.ingress) + " host ingress";
  });
}

TEST(CheckVerdict, ASlowPairIsNamed) {
  expect_most_right([](PlantedCheck& planted, Random& random) {
    const int a = any_host(random, planted);
    const int b = (a + 1 + static_cast<int>(random.below(7))) % planted.hosts;
    planted.pair = probe::Pair(std::min(a, b), std::max(a, b));
    return host_of(planted.pair->first) + " <-> " + host_of(planted.pair->second) + " pair";
  });
}

TEST(CheckVerdict, AHostThatWaitsForItsCpuIsNotCalledSlowOnTheWire) {
  expect_most_right([](PlantedCheck& planted, Random& random) {
    planted.cpu = any_host(random, planted);
    return host_of(planted.cpu) + " CPU-bound, not link-bound";
  });
}

TEST(CheckVerdict, AQuotaIsBelievedWhereABusyMachineHidesIt) {
  probe::Measurements measured = PlantedWorld({.hiccups = 0}, 1).measure();
  for (probe::Spin& spin : measured.spins) spin.cpu = {.busy = 0.5, .waiting = 0.5};
  EXPECT_EQ(judge(measured).state, CheckState::kOk) << "all of them have as little";
  measured.facts[3].cpu_quota = 1.5;
  EXPECT_EQ(judge(measured).state, CheckState::kOk) << "one thread does not use it up";
  measured.facts[3].cpu_quota = 0.7;
  EXPECT_EQ(blamed(judge(measured), 8), Expected{"n3 CPU-bound, not link-bound"});
}

TEST(CheckVerdict, ManyHostsWithoutAllPairs) {
  EXPECT_EQ(verdict_of({.hosts = 100}).state, CheckState::kOk);
  const Expected egress{"n41 host egress"};
  EXPECT_EQ(blamed(verdict_of({.hosts = 100, .egress = 41, .level = 0.7}), 100), egress);
  const Expected ingress{"n7 host ingress"};
  EXPECT_EQ(blamed(verdict_of({.hosts = 37, .ingress = 7, .level = 0.4}), 37), ingress);
}

TEST(CheckVerdict, FewHosts) {
  EXPECT_EQ(verdict_of({.hosts = 3}).state, CheckState::kOk);
  EXPECT_EQ(blamed(verdict_of({.hosts = 3, .hiccups = 0, .egress = 2, .level = 0.7}), 3),
            Expected{"n2 host egress"});
  EXPECT_EQ(
      blamed(verdict_of({.hosts = 4, .hiccups = 0, .pair = probe::Pair(1, 3), .level = 0.7}), 4),
      Expected{"n1 <-> n3 pair"});
}

TEST(CheckVerdict, OneHostHasNoLinks) {
  const Verdict verdict = verdict_of({.hosts = 1});
  EXPECT_EQ(verdict.state, CheckState::kOk);
  EXPECT_EQ(verdict.expected_bits_per_s, 0);
}

TEST(CheckVerdict, TwoHostsHaveNoPeers) {
  EXPECT_EQ(verdict_of({.hosts = 2, .hiccups = 0}).state, CheckState::kUnknown);
  const Verdict one_way = verdict_of({.hosts = 2, .hiccups = 0, .egress = 0, .level = 0.4});
  EXPECT_EQ(one_way.state, CheckState::kDegraded) << "each way is the other's peer";
  EXPECT_EQ(blamed(one_way, 2), Expected{"n0 -> n1 pair"});
}

TEST(CheckVerdict, ARatingJudgesWherePeersCannot) {
  EXPECT_EQ(verdict_of({.hosts = 2, .rate = 94e6, .hiccups = 0, .rated_mbit = 100}).state,
            CheckState::kOk);
  const Verdict slow = verdict_of({.hosts = 8, .rate = 40e6, .rated_mbit = 100});
  EXPECT_EQ(slow.state, CheckState::kDegraded);
  EXPECT_EQ(blamed(slow, 8), Expected{"all hosts all links"});
}

TEST(CheckVerdict, RatesAllOverThePlaceSayNothing) {
  const Verdict verdict = verdict_of({.noise = 0.3});
  EXPECT_EQ(verdict.state, CheckState::kUnknown);
  EXPECT_TRUE(verdict.blames.empty());
  EXPECT_EQ(verdict.reasons.size(), 1u);
}

TEST(CheckVerdict, OneOfThreeHostsThatIsSlowBothWays) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const PlantedCheck planted{
        .hosts = 3, .noise = 0.01, .hiccups = 0, .egress = 1, .ingress = 1, .level = 0.4};
    const Verdict verdict = judge(PlantedWorld(planted, seed).measure());
    ASSERT_EQ(verdict.state, CheckState::kDegraded) << seed;
    ASSERT_EQ(verdict.blames.size(), 2u) << seed;
    for (const Blame& one : verdict.blames) EXPECT_EQ(one.host, 1) << name(one.fault);
  }
}

TEST(CheckVerdict, TwoThingsAtOnce) {
  const Verdict verdict = verdict_of({.egress = 2, .pair = probe::Pair(4, 6), .level = 0.4});
  EXPECT_EQ(blamed(verdict, 8), (Expected{"n2 host egress", "n4 <-> n6 pair"}));
  const Verdict link = verdict_of({.egress = 5, .ingress = 5, .level = 0.7});
  auto both = blamed(link, 8);
  std::sort(both.begin(), both.end());
  EXPECT_EQ(both, (Expected{"n5 host egress", "n5 host ingress"}));
}

TEST(CheckVerdict, AWayThatIsBroken) {
  probe::Measurements measured = PlantedWorld({.hiccups = 0}, 1).measure();
  const auto touches = [](int host) {
    return [host](const probe::Flow& flow) { return flow.from == host || flow.to == host; };
  };
  probe::Measurements pair = measured;
  std::erase_if(pair.flows, [](const probe::Flow& flow) {
    return probe::Pair(std::minmax(flow.from, flow.to)) == probe::Pair(1, 2);
  });
  pair.broken.push_back({.round = 1, .from = 2, .to = 1, .why = "no answer"});
  EXPECT_EQ(blamed(judge(pair), 8), Expected{"n1 <-> n2 pair broken"});
  measured.broken = pair.broken;
  EXPECT_EQ(judge(measured).state, CheckState::kDegraded) << "it worked when it was tried again";
  EXPECT_EQ(blamed(judge(measured), 8), Expected{"n1 <-> n2 pair interrupted"});
  std::erase_if(measured.flows, touches(1));
  measured.broken.push_back({.round = 2, .from = 1, .to = 5, .why = "no answer"});
  EXPECT_EQ(blamed(judge(measured), 8), Expected{"n1 host unreachable"});
}

probe::Measurements healthy_with(const std::vector<probe::Pair>& broken) {
  probe::Measurements measured = PlantedWorld({.hosts = 4, .hiccups = 0}, 1).measure();
  for (const auto& [from, to] : broken)
    measured.broken.push_back(
        {.round = 1, .from = from, .to = to, .why = "nothing has moved for 3 s"});
  return measured;
}

void drop_flows(probe::Measurements& measured, int a, int b) {
  std::erase_if(measured.flows, [&](const probe::Flow& flow) {
    return probe::Pair(std::minmax(flow.from, flow.to)) == probe::Pair(std::minmax(a, b));
  });
}

TEST(CheckVerdict, AHostThatWasAwayForAWhile) {
  const Verdict verdict = judge(healthy_with({{3, 0}, {1, 3}, {3, 0}}));
  EXPECT_EQ(verdict.state, CheckState::kDegraded);
  EXPECT_EQ(blamed(verdict, 4), Expected{"n3 stopped answering"});
  EXPECT_EQ(verdict.blames[0].evidence,
            "measurements with n0, n1 failed: nothing has moved for 3 s");
  EXPECT_EQ(blamed(judge(healthy_with({{3, 0}, {1, 3}, {2, 3}})), 4),
            Expected{"n3 stopped answering"});
}

TEST(CheckVerdict, AHostThatWasAwayExplainsWaysThatWereNotTriedAgain) {
  probe::Measurements measured = healthy_with({{0, 3}, {3, 1}});
  drop_flows(measured, 1, 3);
  EXPECT_EQ(blamed(judge(measured), 4), Expected{"n3 stopped answering"});
  drop_flows(measured, 0, 3);
  EXPECT_EQ(blamed(judge(measured), 4),
            (Expected{"n0 <-> n3 pair broken", "n1 <-> n3 pair broken"}))
      << "n3 answers n2, and the others never";
}

TEST(CheckVerdict, SeveralWaysThatHaveNoHostInCommon) {
  EXPECT_EQ(blamed(judge(healthy_with({{0, 1}, {3, 2}})), 4),
            (Expected{"n0 <-> n1 pair interrupted", "n2 <-> n3 pair interrupted"}));
  EXPECT_EQ(blamed(judge(healthy_with({{0, 1}, {1, 0}})), 4),
            Expected{"n0 <-> n1 pair interrupted"});
}

// All hosts have equally many broken links, so to name one of them would be arbitrary.
TEST(CheckVerdict, WaysThatAllBrokeAtOnceBlameNoHost) {
  const Verdict verdict = judge(healthy_with({{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}}));
  EXPECT_EQ(verdict.state, CheckState::kDegraded);
  EXPECT_EQ(blamed(verdict, 4), Expected{"all hosts network interrupted"});
  EXPECT_EQ(verdict.blames[0].evidence,
            "6 paths that have no host in common broke off (n0 <-> n1, n0 <-> n2, n0 <-> n3, n1 "
            "<-> n2, n1 <-> n3, n2 <-> n3): nothing has moved for 3 s");
  EXPECT_EQ(blamed(judge(healthy_with({{0, 1}, {1, 2}, {2, 3}, {3, 0}})), 4),
            Expected{"all hosts network interrupted"});
}

TEST(CheckVerdict, AHostThatDidNotRunIsNamedInEveryPhase) {
  probe::Measurements measured = healthy_with({});
  measured.stalls = {{.host = 3, .seconds = 3}, {.host = 3, .seconds = 12}};
  measured.reductions.push_back({.hosts = 4, .bytes = 1024, .time_us = 4.1e6, .max_us = 12e6});
  const Verdict verdict = judge(measured);
  EXPECT_EQ(verdict.state, CheckState::kDegraded);
  EXPECT_EQ(blamed(verdict, 4), Expected{"n3 stopped answering"});
  EXPECT_EQ(verdict.blames[0].evidence, "its processes did not run for 12.0 s");
  measured.broken = healthy_with({{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}}).broken;
  EXPECT_EQ(blamed(judge(measured), 4).front(), "n3 stopped answering");
}

TEST(CheckVerdict, AnAllReduceThatHungWhileAllHostsRanIsTheNetworks) {
  probe::Measurements measured = healthy_with({});
  measured.reductions.push_back({.hosts = 4, .bytes = 1024, .time_us = 1e6, .max_us = 1.9e6});
  EXPECT_EQ(judge(measured).state, CheckState::kOk);
  measured.reductions.push_back({.hosts = 4, .bytes = 1024, .time_us = 9e6, .max_us = 10e6});
  EXPECT_EQ(judge(measured).state, CheckState::kOk) << "all of them are slow";
  measured.reductions.push_back({.hosts = 4, .bytes = 1024, .time_us = 4.1e6, .max_us = 12e6});
  EXPECT_EQ(blamed(judge(measured), 4), Expected{"all hosts network interrupted"});
}

TEST(CheckVerdict, IsNeverOkWhereAWayBroke) {
  for (std::uint64_t seed = 0; seed < kTrials; ++seed) {
    Random random(seed);
    std::vector<probe::Pair> broken;
    const std::uint64_t count = 1 + random.below(5);
    for (std::uint64_t i = 0; i < count; ++i) {
      const int from = static_cast<int>(random.below(4));
      broken.emplace_back(from, (from + 1 + static_cast<int>(random.below(3))) % 4);
    }
    probe::Measurements measured = healthy_with(broken);
    for (const auto& [from, to] : broken)
      if (random.chance(0.5)) drop_flows(measured, from, to);
    const Verdict verdict = judge(measured);
    EXPECT_NE(verdict.state, CheckState::kOk) << "seed " << seed;
    EXPECT_FALSE(verdict.blames.empty()) << "seed " << seed;
  }
}

// A flow that waited for CPUs by chance does not count as a normal one.
TEST(CheckVerdict, FlowsThatSayNothingDoNotClearAHost) {
  probe::Measurements measured =
      PlantedWorld({.hiccups = 0, .egress = 2, .level = 0.7}, 1).measure();
  for (probe::Flow& flow : measured.flows)
    if (flow.from == 2 && (flow.to == 3 || flow.to == 5)) flow.receiver = {.busy = 0.9};
  const Verdict verdict = judge(measured);
  EXPECT_EQ(blamed(verdict, 8), Expected{"n2 host egress"});
  EXPECT_EQ(verdict.blames.front().evidence, "slow to 5 of 5 hosts (2 more say nothing)");
}

TEST(CheckVerdict, AFewFlowsDoNotBlameAHost) {
  probe::Measurements measured =
      PlantedWorld({.hiccups = 0, .egress = 2, .level = 0.7}, 1).measure();
  for (probe::Flow& flow : measured.flows)
    if (flow.from == 2 && flow.to != 3 && flow.to != 5) flow.receiver = {.busy = 0.9};
  EXPECT_EQ(blamed(judge(measured), 8), (Expected{"n2 -> n3 pair", "n2 -> n5 pair"}));
}

TEST(CheckVerdict, LinksFasterThanCpusAreNotKnown) {
  probe::Measurements measured =
      PlantedWorld({.rate = 30e9, .hiccups = 0, .rated_mbit = 100'000}, 1).measure();
  for (probe::Flow& flow : measured.flows) flow.sender = {.busy = 0.99};
  const Verdict verdict = judge(measured);
  EXPECT_EQ(verdict.state, CheckState::kUnknown);
  EXPECT_TRUE(verdict.blames.empty()) << "no host is worse than the others";
  EXPECT_EQ(verdict.reasons.size(), 2u);
}

}  // namespace
}  // namespace paceline::launcher
