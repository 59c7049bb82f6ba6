#include "launcher/connectivity/rails.h"

#include <gtest/gtest.h>

#include "tests/unit/launcher/host_surveys.h"

namespace paceline::launcher {
namespace {

using Addresses = std::vector<std::vector<std::string>>;

Addresses rails(const std::vector<HostSurvey>& hosts, const std::string& choice = "") {
  const auto rails = rails_of(hosts, *NetChoice::parse(choice, NetDialect::kPaceline));
  Addresses all;
  if (!rails.ok()) return {{rails.status().text()}};
  for (const Rail& rail : *rails) {
    all.emplace_back();
    for (const HostInterface& end : rail.ends) all.back().push_back(end.address.to_string());
  }
  return all;
}

TEST(Rails, OneNetworkIsOneRail) {
  EXPECT_EQ(rails({surveyed("a", {interface("eth0", "10.0.0.1"), interface("lo", "127.0.0.1")}),
                   surveyed("b", {interface("eth0", "10.0.0.2"), interface("lo", "127.0.0.1")})}),
            (Addresses{{"10.0.0.1", "10.0.0.2"}}));
}

TEST(Rails, TheFasterNetworkComesFirstThenTheOneThatLeadsToTheHead) {
  const auto host = [](const std::string& name, const std::string& last, int first, int second) {
    return surveyed(name, {interface("eth0", "10.0.0." + last, 24, first),
                           interface("ib0", "10.1.0." + last, 24, second)});
  };
  EXPECT_EQ(rails({host("a", "1", 1000, 100'000), host("b", "2", 1000, 100'000)}),
            (Addresses{{"10.1.0.1", "10.1.0.2"}, {"10.0.0.1", "10.0.0.2"}}));
  EXPECT_EQ(rails({host("a", "1", 1000, 100'000), host("b", "2", 1000, 100)}),
            (Addresses{{"10.0.0.1", "10.0.0.2"},
                       {"10.1.0.1", "10.1.0.2"},
                       {"10.1.0.1", "10.0.0.2"},
                       {"10.0.0.1", "10.1.0.2"}}))
      << "a network is as fast as its slowest card; the rest is tried last";
  std::vector<HostSurvey> even{host("a", "1", 1000, 1000), host("b", "2", 1000, 1000)};
  EXPECT_EQ(rails(even).front(), (std::vector<std::string>{"10.0.0.1", "10.0.0.2"}));
  even[0].reached_by = "10.1.0.1";
  even[1].reached_by = "10.1.0.2";
  EXPECT_EQ(rails(even).front(), (std::vector<std::string>{"10.1.0.1", "10.1.0.2"}));
}

TEST(Rails, AnAddressThatMachinesShareLeadsNowhere) {
  const auto host = [](const std::string& name, const std::string& last) {
    return surveyed(name, {interface("docker0", "172.17.0.1", 16, 100'000),
                           interface("eth0", "10.0.0." + last)});
  };
  EXPECT_EQ(rails({host("a", "1"), host("b", "2")}), (Addresses{{"10.0.0.1", "10.0.0.2"}}));
}

TEST(Rails, TwoNamesOfOneMachineHaveItsAddress) {
  HostSurvey a = surveyed("a", {interface("eth0", "10.0.0.1")});
  HostSurvey b = surveyed("b", {interface("eth0", "10.0.0.1")});
  b.machine = a.machine;
  EXPECT_EQ(rails({a, b}), (Addresses{{"10.0.0.1", "10.0.0.1"}}));
}

TEST(Rails, ABridgeComesLast) {
  const auto host = [](const std::string& name, const std::string& last) {
    return surveyed(name, {interface("docker1", "10.9.0." + last, 24, 100'000),
                           interface("eth0", "10.0.0." + last, 24, 10)});
  };
  EXPECT_EQ(rails({host("a", "1"), host("b", "2")}),
            (Addresses{{"10.0.0.1", "10.0.0.2"}, {"10.9.0.1", "10.9.0.2"}}));
}

TEST(Rails, WhatIsDownIsNotTriedAndLoopbackOnlyWhereThereIsNothingElse) {
  HostInterface down = interface("eth1", "10.1.0.1");
  down.is_up = false;
  EXPECT_EQ(rails({surveyed("a", {down, interface("eth0", "10.0.0.1")}),
                   surveyed("b", {interface("eth0", "10.0.0.2")})}),
            (Addresses{{"10.0.0.1", "10.0.0.2"}}));
  HostSurvey a = surveyed("a", {interface("lo", "127.0.0.1", 8)});
  HostSurvey b = surveyed("b", {interface("lo", "127.0.0.1", 8)});
  b.machine = a.machine;
  EXPECT_EQ(rails({a, b}), (Addresses{{"127.0.0.1", "127.0.0.1"}}));
}

TEST(Rails, HostsWithoutANetworkInCommonAreJoinedByTheirBestAddresses) {
  EXPECT_EQ(
      rails({surveyed("a", {interface("eth0", "10.1.0.1", 32)}),
             surveyed("b", {interface("eth0", "10.2.0.1", 32), interface("eth1", "10.2.1.1", 32)}),
             surveyed("c", {interface("eth0", "10.3.0.1", 32)})}),
      (Addresses{{"10.1.0.1", "10.2.0.1", "10.3.0.1"}, {"10.1.0.1", "10.2.1.1", "10.3.0.1"}}));
}

TEST(Rails, TheChoiceHolds) {
  const auto host = [](const std::string& name, const std::string& last) {
    return surveyed(name,
                    {interface("eth0", "10.0.0." + last), interface("ib0", "10.1.0." + last)});
  };
  const std::vector<HostSurvey> hosts{host("a", "1"), host("b", "2")};
  EXPECT_EQ(rails(hosts, "ib"), (Addresses{{"10.1.0.1", "10.1.0.2"}}));
  EXPECT_EQ(rails(hosts, "^ib"), (Addresses{{"10.0.0.1", "10.0.0.2"}}));
  const auto choice = NetChoice::choose({.paceline = "eth9"});
  EXPECT_EQ(
      rails_of(hosts, *choice).status().text(),
      "host a: PACELINE_NET=eth9 matches none of its interfaces; it has eth0 10.0.0.1/24, ib0 "
      "10.1.0.1/24\nhost b: PACELINE_NET=eth9 matches none of its interfaces; it has eth0 "
      "10.0.0.2/24, ib0 10.1.0.2/24");
}

TEST(Rails, AHostWithoutAnyAddressIsNamed) {
  EXPECT_EQ(rails({surveyed("a", {interface("eth0", "10.0.0.1")}), surveyed("b", {})}),
            (Addresses{{"host b: no address can be reached by other hosts; it has none"}}));
}

TEST(Rails, AnInterfaceThatIsSetAsideSaysWhy) {
  HostInterface down = interface("eth1", "10.1.0.1");
  down.is_up = false;
  const std::vector<HostSurvey> hosts{
      surveyed("a", {interface("docker0", "172.17.0.1", 16), down}),
      surveyed("b", {interface("docker0", "172.17.0.1", 16), interface("eth0", "10.0.0.2")})};
  const auto choice = NetChoice::choose({.nccl = "docker0"});
  EXPECT_EQ(
      rails_of(hosts, *choice).status().text(),
      "host a: no interface that NCCL_SOCKET_IFNAME=docker0 selects reaches other hosts; it "
      "has docker0 172.17.0.1/16 (bridge; the address is also on b), eth1 10.1.0.1/24 (down)\n"
      "host b: no interface that NCCL_SOCKET_IFNAME=docker0 selects reaches other hosts; it "
      "has docker0 172.17.0.1/16 (bridge; the address is also on a), eth0 10.0.0.2/24");
}

TEST(Rails, OneAddressOnTwoHostsIsNamed) {
  const auto host = [](const std::string& name, const std::string& address) {
    return surveyed(name, {interface("eth0", address), interface("lo", "127.0.0.1", 8)});
  };
  EXPECT_EQ(rails({host("d1", "10.77.0.1"), host("d2", "10.77.0.3"), host("d3", "10.77.0.3")}),
            (Addresses{{"host d2: no address can be reached by other hosts; it has eth0 "
                        "10.77.0.3/24 (the address is also on d3), lo 127.0.0.1/8\n"
                        "host d3: no address can be reached by other hosts; it has eth0 "
                        "10.77.0.3/24 (the address is also on d2), lo 127.0.0.1/8"}}));
}

TEST(Rails, CandidatesHaveABound) {
  const auto host = [](const std::string& name, const std::string& last) {
    std::vector<HostInterface> all;
    for (int i = 0; i < 40; ++i)
      all.push_back(interface("eth" + std::to_string(i), "10.0." + std::to_string(i) + "." + last));
    HostSurvey survey = surveyed(name, all);
    survey.reached_by = "10.0.39." + last;
    return survey;
  };
  const Addresses found = rails({host("a", "1"), host("b", "2")});
  EXPECT_EQ(found.size(), kMaxCandidates);
  EXPECT_EQ(found.front(), (std::vector<std::string>{"10.0.39.1", "10.0.39.2"}));
}

TEST(Rails, HaveNamesForPeople) {
  const auto text = [](const std::vector<HostInterface>& ends) { return describe(Rail{ends}); };
  EXPECT_EQ(text({interface("eth0", "10.0.0.1"), interface("eth0", "10.0.0.2")}),
            "eth0 10.0.0.0/24");
  EXPECT_EQ(text({interface("eth0", "10.0.0.1"), interface("ens5", "10.0.0.2")}), "10.0.0.0/24");
  EXPECT_EQ(text({interface("eth0", "10.0.0.1"), interface("eth0", "10.0.1.2")}), "eth0");
  EXPECT_EQ(text({interface("eth0", "10.0.0.1"), interface("ens5", "10.0.1.2")}),
            "different networks");
}

}  // namespace
}  // namespace paceline::launcher
