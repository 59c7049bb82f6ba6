#include "launcher/connectivity/pair_table.h"

#include <gtest/gtest.h>

#include "launcher/connectivity/pair_faults.h"
#include "tests/unit/launcher/host_surveys.h"

namespace paceline::launcher {
namespace {

const std::vector<std::string> kNames3{"h1", "h2", "h3"};
const std::vector<std::string> kNames{"h1", "h2", "h3", "h4"};

Rail rail(int network, int hosts) {
  Rail rail;
  for (int host = 1; host <= hosts; ++host)
    rail.ends.push_back(interface("eth" + std::to_string(network),
                                  "10." + std::to_string(network) + ".0." + std::to_string(host)));
  return rail;
}

// Every trial of the rail ends as `end_of(from, to)` says, counted from 1.
template <class EndOf>
void note_all(PairTable& table, std::size_t wave, EndOf end_of) {
  for (std::size_t from = 0; from < table.rails().front().ends.size(); ++from) {
    const auto targets = table.targets_of(from);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (targets[i].wave != wave) continue;
      const messages::TrialEnd end = end_of(from + 1, targets[i].host + 1);
      if (end == messages::PENDING) continue;
      EXPECT_TRUE(table.note(from, i, end).ok());
    }
  }
}

messages::TrialEnd all_well(std::size_t, std::size_t) { return messages::REACHED; }

TEST(PairTable, TheFirstGoodRailIsTheBest) {
  PairTable table({rail(0, 3), rail(1, 3)});
  EXPECT_EQ(table.targets_of(1).size(), 4u);
  EXPECT_FALSE(table.best().has_value());
  note_all(table, 1, all_well);
  EXPECT_EQ(table.best(), 1u);
  EXPECT_FALSE(table.is_settled(0));
  note_all(table, 0, all_well);
  EXPECT_EQ(table.best(), 0u);
  EXPECT_TRUE(table.is_settled(0));
}

TEST(PairTable, AnEndThatTwoRailsHaveIsTriedOnce) {
  Rail second = rail(1, 2);
  second.ends[0] = rail(0, 2).ends[0];
  PairTable table({rail(0, 2), second});
  EXPECT_EQ(table.targets_of(0).size(), 2u);
  EXPECT_EQ(table.targets_of(1).size(), 1u);
  note_all(table, 0, all_well);
  EXPECT_EQ(table.best(), 0u);
  EXPECT_FALSE(table.is_good(1));
  note_all(table, 1, all_well);
  EXPECT_TRUE(table.is_good(1));
}

TEST(PairTable, EachHostMayUseItsOwnAddress) {
  PairTable table({rail(0, 3), rail(1, 3)});
  note_all(table, 0, [](std::size_t, std::size_t to) {
    return to == 3 ? messages::NO_ANSWER : messages::REACHED;
  });
  note_all(table, 1, [](std::size_t, std::size_t to) {
    return to == 1 ? messages::NO_ANSWER : messages::REACHED;
  });
  EXPECT_FALSE(table.best().has_value());
  const std::optional<Rail> mixed = table.mixed();
  ASSERT_TRUE(mixed.has_value());
  EXPECT_EQ(mixed->ends[0].address.to_string(), "10.0.0.1");
  EXPECT_EQ(mixed->ends[1].address.to_string(), "10.0.0.2");
  EXPECT_EQ(mixed->ends[2].address.to_string(), "10.1.0.3");
}

TEST(PairTable, BelievesNoAgentThatTellsOfWhatItHadNotToTry) {
  PairTable table({rail(0, 2)});
  EXPECT_FALSE(table.note(0, 1, messages::REACHED).ok());
  EXPECT_FALSE(table.note(0, 1u << 31, messages::REACHED).ok());
  EXPECT_FALSE(table.note(0, 0, messages::PENDING).ok());
  EXPECT_FALSE(table.note(0, 0, static_cast<messages::TrialEnd>(77)).ok());
  EXPECT_TRUE(table.note(0, 0, messages::REACHED).ok());
  EXPECT_FALSE(table.note(0, 0, messages::REACHED).ok()) << "a second time";
}

TEST(PairTable, AFasterNetworkThatIsNotUsedIsMentioned) {
  Rail fast = rail(0, 3);
  for (HostInterface& end : fast.ends) end.speed_mbits = 100'000;
  PairTable table({fast, rail(1, 3), rail(2, 3)});
  note_all(table, 0, [](std::size_t from, std::size_t to) {
    return from == 2 && to == 3 ? messages::PENDING : messages::REACHED;
  });
  note_all(table, 2, all_well);
  EXPECT_EQ(passed_over(table, 2, kNames3),
            std::vector<std::string>{
                "eth0 10.0.0.0/24, of 100000 Mbit/s, is not used, because not all hosts reach each "
                "other there (h2 to h3: no answer yet); the job uses eth2 10.2.0.0/24"})
      << "one that is as fast is not";
  EXPECT_EQ(passed_over(table, 0, kNames3), std::vector<std::string>{});
}

// ---- What does not work --------------------------------------------------------------------

PairTable broken(int hosts, messages::TrialEnd (*end_of)(std::size_t, std::size_t)) {
  PairTable table({rail(0, hosts)});
  note_all(table, 0, end_of);
  return table;
}

std::vector<std::size_t> culprits(const PairTable& table) {
  return hosts_to_look_at(lossy_ways(table, 0));
}

TEST(PairFaults, TheHostThatHasPartInAllIsNamed) {
  const PairTable table = broken(4, [](std::size_t from, std::size_t to) {
    return from == 3 || to == 3 ? messages::LONG_LOST : messages::REACHED;
  });
  EXPECT_EQ(culprits(table), (std::vector<std::size_t>{2}));
  EXPECT_EQ(
      describe_faults(table, kNames),
      "not all hosts can exchange data over eth0 10.0.0.0/24; look at host h3: all failures are "
      "from it or to it\n"
      "  from \\ to  h1   h2   h3   h4\n"
      "  h1         -    ok   MTU  ok\n"
      "  h2         ok   -    MTU  ok\n"
      "  h3         MTU  MTU  -    MTU\n"
      "  h4         ok   ok   MTU  -\n"
      "  MTU: short packets pass, but packets of 1500 bytes are lost, from h1 to h3, h3 to "
      "h1, h2 to h3 and 3 more links. A device on the path has a smaller MTU and does not report "
      "it; set this MTU on the interfaces (`ip link set DEVICE mtu N`), or fix the device");
}

TEST(PairFaults, TwoHostsAloneAreBothToBeLookedAt) {
  EXPECT_EQ(culprits(broken(2, [](std::size_t, std::size_t) { return messages::NO_ANSWER; })),
            (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(culprits(broken(4,
                            [](std::size_t from, std::size_t to) {
                              return from == 2 && to == 3 ? messages::REFUSED : messages::REACHED;
                            })),
            (std::vector<std::size_t>{1, 2}));
}

TEST(PairFaults, TwoSickHostsAreNamedOneAfterTheOther) {
  EXPECT_EQ(culprits(broken(4,
                            [](std::size_t from, std::size_t to) {
                              return to == 1 || (to == 4 && from == 2) ? messages::NO_ANSWER
                                                                       : messages::REACHED;
                            })),
            (std::vector<std::size_t>{0, 1, 3}));
}

std::string without(const PairTable& table) {
  std::string text;
  for (const FaultyHost& one : faulty_hosts(table, kNames))
    text.append(kNames[one.host])
        .append(one.or_host ? " or " + kNames[*one.or_host] : "")
        .append(": ")
        .append(one.why)
        .append("\n");
  return text;
}

TEST(PairFaults, OthersCanGoOnWithoutTheFaultyHosts) {
  EXPECT_EQ(without(broken(4,
                           [](std::size_t from, std::size_t to) {
                             return to == 1 || (to == 4 && from == 2) ? messages::NO_ANSWER
                                                                      : messages::REACHED;
                           })),
            "h1: data that is sent to it does not arrive (no answer, for example with h2)\n"
            "h4 or h2: data that is sent to it does not arrive (no answer, for example with h2)\n");
  EXPECT_EQ(without(broken(4,
                           [](std::size_t from, std::size_t to) {
                             return from == 3 || to == 3 ? messages::LONG_LOST : messages::REACHED;
                           })),
            "h3: data from and to it does not arrive (MTU, for example with h1)\n");
  EXPECT_EQ(without(broken(2, [](std::size_t, std::size_t) { return messages::REFUSED; })),
            "h2 or h1: data from and to it does not arrive (refused, for example with h1)\n")
      << "one of two is left";
}

TEST(PairFaults, AFirstPacketThatCameTellsTheDirection) {
  PairTable table = broken(3, [](std::size_t from, std::size_t to) {
    return from + to == 5 ? messages::NO_ANSWER : messages::REACHED;  // 2 and 3
  });
  table.note_half_open(1, *IpAddress::parse("10.0.0.3"));
  EXPECT_EQ(lossy_ways(table, 0),
            (std::vector<LossyWay>{{.from = 1, .to = 2, .how = messages::NO_ANSWER}}))
      << "what host 3 sends comes to host 2, and its answer does not";
}

TEST(PairFaults, TheDirectionOfLongMessagesIsTold) {
  const PairTable table = broken(3, [](std::size_t from, std::size_t to) {
    if (from == 1 && to == 2) return messages::LONG_LOST_THERE;
    return from == 2 && to == 1 ? messages::LONG_LOST_BACK : messages::REACHED;
  });
  EXPECT_EQ(lossy_ways(table, 0),
            (std::vector<LossyWay>{{.from = 0, .to = 1, .how = messages::LONG_LOST_THERE}}));
}

TEST(PairFaults, AHostThatNobodyCanReachAndOneThatReachesNobody) {
  const auto text = [](const PairTable& table) {
    const std::string all = describe_faults(table, kNames);
    return all.substr(all.find("look"), all.find('\n') - all.find("look"));
  };
  EXPECT_EQ(text(broken(4,
                        [](std::size_t, std::size_t to) {
                          return to == 3 ? messages::NO_ANSWER : messages::REACHED;
                        })),
            "look at host h3: data that others send to it does not arrive");
  EXPECT_EQ(
      text(broken(4, [](std::size_t from,
                        std::size_t) { return from == 3 ? messages::NO_WAY : messages::REACHED; })),
      "look at host h3: data that it sends does not arrive");
}

TEST(PairFaults, AHostThatReportsNothingIsNamed) {
  const std::string text = describe_faults(
      broken(4, [](std::size_t from,
                   std::size_t) { return from == 3 ? messages::PENDING : messages::REACHED; }),
      kNames);
  EXPECT_NE(text.find("look at host h3"), std::string::npos) << text;
  EXPECT_NE(text.find("?: no report came in time"), std::string::npos) << text;
}

TEST(PairFaults, AMatrixOfManyHostsShowsThoseThatMatter) {
  std::vector<std::string> names;
  for (int i = 1; i <= 40; ++i) names.push_back("h" + std::to_string(i));
  const std::string text = describe_faults(
      broken(40,
             [](std::size_t from, std::size_t to) {
               return from == 30 && to == 20 ? messages::REFUSED : messages::REACHED;
             }),
      names);
  EXPECT_NE(text.find("look at hosts h20 and h30"), std::string::npos) << text;
  EXPECT_NE(text.find("  from \\ to  h1  h2  h3  h4  h5  h6  h7  h8  h9  h10  h20      h30\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("and 28 more"), std::string::npos) << text;
}

}  // namespace
}  // namespace paceline::launcher
