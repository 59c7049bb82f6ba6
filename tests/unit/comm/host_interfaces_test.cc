#include "comm/host_interfaces.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(HostInterfaces, LoopbackIsThere) {
  const auto all = interfaces_of_this_host();
  const auto found = std::find_if(all.begin(), all.end(), [](const HostInterface& one) {
    return one.address == *IpAddress::parse("127.0.0.1");
  });
  ASSERT_NE(found, all.end());
  EXPECT_EQ(describe(*found), "lo 127.0.0.1/8");
  EXPECT_EQ(found->kind, InterfaceKind::kLoopback);
  EXPECT_TRUE(found->is_up);
  const auto is_v6 = [](const HostInterface& one) { return one.address.is_v6(); };
  EXPECT_TRUE(std::is_partitioned(all.rbegin(), all.rend(), is_v6)) << "IPv4 first";
}

std::string bound(const Environment& environment) {
  const Result<std::string> address = bind_address_of(environment);
  return address.ok() ? *address : address.status().text();
}

TEST(BindAddress, WhatIsStatedCounts) {
  EXPECT_EQ(bound({}), "127.0.0.1");
  EXPECT_EQ(bound({.bind_address = "10.0.0.1", .net = "lo"}), "10.0.0.1");
  EXPECT_EQ(bound({.net = "127.0.0.0/8"}), "127.0.0.1");
  EXPECT_EQ(bound({.nccl_socket_ifname = "=lo", .gloo_socket_ifname = "ib0"}), "127.0.0.1");
}

TEST(BindAddress, AJobOfOneHostStaysOnLoopback) {
  EXPECT_EQ(bound({.store = "unix:@job", .net = "no-such-net"}), "127.0.0.1");
}

TEST(BindAddress, AnInterfaceThatIsNotThereIsAnErrorWithWhatIs) {
  const std::string error = bound({.net = "no-such-net"});
  EXPECT_TRUE(
      error.starts_with("PACELINE_NET=no-such-net selects none of this host's interfaces ("))
      << error;
  EXPECT_NE(error.find("lo 127.0.0.1/8"), std::string::npos) << error;
}

}  // namespace
}  // namespace paceline
