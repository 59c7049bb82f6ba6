#include "comm/base/net_choice.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline {
namespace {

struct Here {
  const char* name;
  const char* address;
};

// A host with a bit of everything.
const std::vector<Here> kHost = {
    {"lo", "127.0.0.1"},    {"eth0", "10.77.0.1"},  {"eth1", "10.78.0.1"},
    {"eth10", "10.78.1.1"}, {"ib0", "192.168.9.1"}, {"docker0", "172.17.0.1"},
    {"eth0", "fd00::1"},
};

std::string taken(const NetChoice& choice) {
  std::string names;
  for (const Here& one : kHost)
    if (choice.takes(one.name, *IpAddress::parse(one.address)))
      names.append(names.empty() ? "" : " ").append(one.address);
  return names;
}

std::string taken(const std::string& text, NetDialect dialect = NetDialect::kPaceline) {
  const Result<NetChoice> choice = NetChoice::parse(text, dialect);
  return choice.ok() ? taken(*choice) : choice.status().text();
}

const std::string kAll = "127.0.0.1 10.77.0.1 10.78.0.1 10.78.1.1 192.168.9.1 172.17.0.1 fd00::1";

TEST(NetChoice, NothingIsAskedAndEverythingTaken) {
  EXPECT_EQ(taken(NetChoice()), kAll);
  EXPECT_FALSE(NetChoice().is_stated());
  EXPECT_EQ(taken(""), kAll);
}

TEST(NetChoice, NamesAreTakenByTheirBeginningAndWholeBehindAnEqualsSign) {
  EXPECT_EQ(taken("eth"), "10.77.0.1 10.78.0.1 10.78.1.1 fd00::1");
  EXPECT_EQ(taken("eth1"), "10.78.0.1 10.78.1.1");
  EXPECT_EQ(taken("=eth1"), "10.78.0.1");
  EXPECT_EQ(taken("=eth1,eth10"), "10.78.0.1 10.78.1.1") << "it holds for what follows";
  EXPECT_EQ(taken("=eth,ib"), "");
  EXPECT_EQ(taken("ib,=eth1"), "10.78.0.1 192.168.9.1");
}

TEST(NetChoice, WhatIsBehindACaretIsNotTaken) {
  EXPECT_EQ(taken("^docker,lo"), "10.77.0.1 10.78.0.1 10.78.1.1 192.168.9.1 fd00::1");
  EXPECT_EQ(taken("^=eth1"), "127.0.0.1 10.77.0.1 10.78.1.1 192.168.9.1 172.17.0.1 fd00::1");
  EXPECT_EQ(taken("eth,^eth1"), "10.77.0.1 fd00::1");
}

TEST(NetChoice, NetworksAndAddresses) {
  EXPECT_EQ(taken("10.78.0.0/16"), "10.78.0.1 10.78.1.1");
  EXPECT_EQ(taken("10.78.0.77/24"), "10.78.0.1") << "an address of the network will do";
  EXPECT_EQ(taken("10.78.1.1"), "10.78.1.1");
  EXPECT_EQ(taken("10.77.0.0/24,ib"), "10.77.0.1 192.168.9.1");
  EXPECT_EQ(taken("^10.0.0.0/8"), "127.0.0.1 192.168.9.1 172.17.0.1 fd00::1");
  EXPECT_EQ(taken("fd00::/8"), "fd00::1");
  EXPECT_EQ(taken("::/0"), "fd00::1") << "IPv6 alone";
  EXPECT_EQ(taken("0.0.0.0/0"), kAll.substr(0, kAll.rfind(' ')));
}

TEST(NetChoice, WordsThatAreNothingAreNamed) {
  EXPECT_EQ(taken("eth0,,ib0"), "'' is empty: name an interface, an address or a network");
  EXPECT_EQ(taken("^"), "'' is empty: name an interface, an address or a network");
  EXPECT_EQ(taken("10.0.0.0/33"),
            "'10.0.0.0/33' has a prefix length that is too long for its address");
  EXPECT_EQ(taken("10.0.0.0/"), "'10.0.0.0/' has a prefix length that is too long for its address");
  EXPECT_EQ(taken("10.0.0/8"), "'10.0.0/8' is not an address or network like 10.0.0.0/8");
  EXPECT_EQ(taken("300.0.0.1"), "'300.0.0.1' is not an address or network like 10.0.0.0/8");
  EXPECT_EQ(taken("eth0 ib0"), "'eth0 ib0' is not a name of an interface");
  EXPECT_EQ(taken("eth0\n"), "'eth0?' is not a name of an interface");
  EXPECT_EQ(taken("a-name-of-16-let"), "'a-name-of-16-let' is not a name of an interface");
  std::string many = "eth0";
  for (std::size_t i = 0; i < NetChoice::kMaxWords; ++i) many += ",eth0";
  EXPECT_EQ(taken(many), "'eth0' exceeds the max number of entries");
}

TEST(NetChoice, OthersAreReadAsTheyReadThemselves) {
  EXPECT_EQ(taken("eth1", NetDialect::kNccl), "10.78.0.1 10.78.1.1");
  EXPECT_EQ(taken("=eth1,ib0", NetDialect::kNccl), "10.78.0.1 192.168.9.1");
  EXPECT_EQ(taken("^eth,lo", NetDialect::kNccl), "192.168.9.1 172.17.0.1");
  EXPECT_EQ(taken("eth1,", NetDialect::kNccl), "10.78.0.1 10.78.1.1");
  EXPECT_EQ(taken("eth1,ib0", NetDialect::kGloo), "10.78.0.1 192.168.9.1");
  EXPECT_EQ(taken("^eth1", NetDialect::kGloo), "") << "Gloo knows no such form";
}

TEST(NetChoice, TheFirstVariableThatIsSetCounts) {
  const auto choose = [](const NetChoice::Variables& variables) {
    return NetChoice::choose(variables);
  };
  EXPECT_FALSE(choose({})->is_stated());
  EXPECT_EQ(choose({.paceline = "ib0", .nccl = "eth", .gloo = "lo"})->text(), "PACELINE_NET=ib0");
  EXPECT_EQ(choose({.nccl = "eth", .gloo = "lo"})->text(), "NCCL_SOCKET_IFNAME=eth");
  EXPECT_EQ(choose({.gloo = "lo"})->text(), "GLOO_SOCKET_IFNAME=lo");
  EXPECT_EQ(choose({.paceline = "1.2.3/4"}).status().text(),
            "PACELINE_NET=1.2.3/4: '1.2.3/4' is not an address or network like 10.0.0.0/8");
}

TEST(IpAddress, IsAValue) {
  for (const char* text : {"10.0.0.1", "0.0.0.0", "255.255.255.255", "::", "fd00::1"})
    EXPECT_EQ(IpAddress::parse(text)->to_string(), text);
  for (const char* text :
       {"", "10.0.0", "10.0.0.1 ", "10.0.0.256", "eth0", "fd00::1%eth0", "[::1]"})
    EXPECT_FALSE(IpAddress::parse(text).has_value()) << text;
  EXPECT_EQ(*IpAddress::parse("10.0.0.1"), *IpAddress::parse("10.0.0.1"));
  EXPECT_NE(*IpAddress::parse("0.0.0.0"), *IpAddress::parse("::"));
}

TEST(IpAddress, HasANetwork) {
  const auto network = [](const char* address, int bits) {
    return IpAddress::parse(address)->network(bits).to_string();
  };
  EXPECT_EQ(network("10.77.3.255", 24), "10.77.3.0");
  EXPECT_EQ(network("10.77.3.255", 31), "10.77.3.254");
  EXPECT_EQ(network("10.77.3.255", 9), "10.0.0.0");
  EXPECT_EQ(network("10.77.3.255", 0), "0.0.0.0");
  EXPECT_EQ(network("10.77.3.255", 32), "10.77.3.255");
  EXPECT_EQ(network("fd00:1:2:3::1", 33), "fd00:1::");
}

}  // namespace
}  // namespace paceline
