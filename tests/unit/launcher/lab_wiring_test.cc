#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "launcher/tools/lab/wiring.h"

namespace paceline::launcher {
namespace {

const std::vector<std::string> kPorts{"h1e0", "h1e1"};

TEST(LabWiring, ABridgeForEachRail) {
  const std::string text = wire_switch({.rates_bits = {0, 0}});
  EXPECT_NE(text.find("link add br0 address 02:70:6c:00:00:fe type bridge\n"), std::string::npos);
  EXPECT_NE(text.find("addr add 10.77.0.254/24 dev br0\n"), std::string::npos);
  EXPECT_NE(text.find("addr add 10.78.0.254/24 dev br1\n"), std::string::npos);
}

TEST(LabWiring, ALinkForEachRail) {
  EXPECT_EQ(wire_host_to_switch({.rates_bits = {0}}, 2, 17),
            "link add h3e0 type veth peer name eth0 address 02:70:6c:00:00:03 netns 17\n"
            "link set h3e0 master br0 up\n");
  const std::string text = wire_host({.hosts = 2, .rates_bits = {0, 0}}, 1);
  EXPECT_EQ(text.find("link set lo up\naddr add 10.77.0.2/24 dev eth0\nlink set eth0 up\n"
                      "neigh replace 10.77.0.1 lladdr 02:70:6c:00:00:01 dev eth0 nud permanent\n"),
            0u)
      << text;
  EXPECT_NE(text.find("neigh replace 10.78.0.254 lladdr 02:70:6c:01:00:fe dev eth1 nud permanent"),
            std::string::npos)
      << text;
}

TEST(LabWiring, ALinkWithADelayHasDevicesAlready) {
  EXPECT_EQ(wire_host_to_switch({.rates_bits = {0}, .delay = std::chrono::milliseconds(1)}, 2, 17),
            "link set h3t0 name eth0 address 02:70:6c:00:00:03 netns 17\n"
            "link set h3e0 master br0 up\n");
}

TEST(LabWiring, RatesAndTheirQueues) {
  EXPECT_EQ(shape("eth0", 0), "qdisc replace dev eth0 root noqueue\n");
  EXPECT_EQ(shape("eth0", 1'000'000'000),
            "qdisc replace dev eth0 root tbf rate 1000000000bit burst 62500 limit 1250000\n");
  EXPECT_EQ(shape("eth0", 8'000),
            "qdisc replace dev eth0 root tbf rate 8000bit burst 8192 limit 262144\n")
      << "a few packets fit at any rate";
}

TEST(LabWiring, TwoUnitsFitIntoABurst) {
  EXPECT_EQ(size_units("eth0", 0), "link set eth0 gso_max_size 65536\n");
  EXPECT_EQ(size_units("h1e0", 1'000'000'000), "link set h1e0 gso_max_size 31250\n");
  EXPECT_EQ(size_units("h1e0", 10'000'000), "link set h1e0 gso_max_size 4096\n");
  EXPECT_EQ(size_units("h1e0", 100'000'000'000), "link set h1e0 gso_max_size 65536\n");
}

TEST(LabWiring, APeerHasAQueueOfItsOwn) {
  const std::string text =
      shape_peer("eth0", {.link_bits = 100'000'000, .peer = "10.77.0.2", .peer_bits = 40'000'000});
  EXPECT_EQ(text.find("qdisc replace dev eth0 root noqueue\n"), 0u) << "what was there has gone";
  EXPECT_NE(text.find("classid 1:10 htb rate 100000000bit"), std::string::npos);
  EXPECT_NE(text.find("classid 1:20 htb rate 40000000bit ceil 40000000bit burst 8192"),
            std::string::npos);
  EXPECT_NE(text.find("match ip dst 10.77.0.2/32 flowid 1:20\n"), std::string::npos);
  EXPECT_NE(shape_peer("h1e0", {.peer = "10.77.0.2", .peer_bits = 1000, .is_source = true})
                .find("match ip src 10.77.0.2/32"),
            std::string::npos);
}

TEST(LabWiring, Ports) {
  EXPECT_EQ(set_ports(kPorts, false), "link set h1e0 down\nlink set h1e1 down\n");
  EXPECT_EQ(set_port_mtu(kPorts, 900), "link set h1e0 mtu 900\nlink set h1e1 mtu 900\n");
}

TEST(LabWiring, Filters) {
  const std::string none = "table netdev loss_h1e0\ndelete table netdev loss_h1e0\n";
  EXPECT_EQ(remove_filter("h1e0", Filter::kLoss), none);
  EXPECT_EQ(drop_some("h1e0", 0), none);
  EXPECT_NE(drop_some("h1e0", 30'000).find("numgen random mod 100000 < 30000 drop; }"),
            std::string::npos);
  EXPECT_EQ(drop_some("h1e0", 100'000).find("numgen"), std::string::npos);
  EXPECT_NE(drop_long("h1e0", 900).find("meta length > 900 drop; }"), std::string::npos);
  EXPECT_EQ(drop_sent("h1e0"),
            "table netdev oneway_h1e0\ndelete table netdev oneway_h1e0\n"
            "table netdev oneway_h1e0 { chain ingress { type filter hook ingress device \"h1e0\" "
            "priority 0; policy accept; drop; }; }\n");
}

}  // namespace
}  // namespace paceline::launcher
