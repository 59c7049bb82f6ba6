#include "launcher/tools/lab/lab_plan.h"

#include <string>

#include <gtest/gtest.h>

#include "launcher/options/hostfile.h"

namespace paceline::launcher {
namespace {

TEST(LabPlan, Names) {
  EXPECT_EQ(lab_host(0), "h1");
  EXPECT_EQ(lab_host(63), "h64");
  EXPECT_EQ(lab_port(11, 1), "h12e1");
  EXPECT_EQ(lab_interface(1), "eth1");
  EXPECT_EQ(lab_bridge(0), "br0");
  for (const char* name : {"lab", "a", "2-x", "sixteen-letters0"}) EXPECT_TRUE(is_lab_name(name));
  for (const char* name : {"", "-a", "A", "a.b", "a/b", "a b", "seventeen-letters"})
    EXPECT_FALSE(is_lab_name(name)) << name;
}

TEST(LabPlan, Addresses) {
  EXPECT_EQ(lab_address(0, 0), "10.77.0.1");
  EXPECT_EQ(lab_address(63, 1), "10.78.0.64");
  EXPECT_EQ(lab_switch_address(1), "10.78.0.254");
  EXPECT_EQ(lab_hardware_address(0, 0), "02:70:6c:00:00:01");
  EXPECT_EQ(lab_bridge_hardware_address(1), "02:70:6c:01:00:fe");
}

TEST(LabPlan, FindsHosts) {
  const LabPlan plan{.hosts = 2};
  EXPECT_EQ(find_lab_host(plan, "h1"), 0);
  EXPECT_EQ(find_lab_host(plan, "h2"), 1);
  for (const char* name : {"h3", "h0", "h", "switch", ""})
    EXPECT_EQ(find_lab_host(plan, name), std::nullopt) << name;
}

TEST(LabPlan, HostfileIsOne) {
  const std::string text = lab_hostfile({.hosts = 2, .slots = 3});
  EXPECT_EQ(text, "h1 slots=3\nh2 slots=3\n");
  const auto hosts = parse_hostfile(text, "hosts");
  ASSERT_TRUE(hosts.ok());
  EXPECT_EQ(hosts->size(), 2u);
}

TEST(LabPlan, EveryAddressHasAName) {
  EXPECT_EQ(lab_etc_hosts({.hosts = 1, .rates_bits = {0, 0}}),
            "127.0.0.1 localhost\n::1 localhost ip6-localhost\n"
            "10.77.0.1 h1\n10.77.0.254 switch\n10.78.0.1 h1-eth1\n10.78.0.254 switch-eth1\n");
}

}  // namespace
}  // namespace paceline::launcher
