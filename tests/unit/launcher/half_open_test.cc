#include "launcher/connectivity/half_open.h"

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

// As Linux 6.1 writes it on a machine whose bytes are little-endian.
constexpr std::string_view kTable =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout\n"
    "   0: 00000000:0FA0 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0\n"
    "   1: 03004D0A:0FA0 02004D0A:C350 03 00000000:00000000 01:00000064 00000001     0        0\n"
    "   2: 03004D0A:0FA0 01004D0A:C351 01 00000000:00000000 00:00000000 00000000     0        0\n"
    "   3: 03004D0A:0FA1 04004D0A:C352 03 00000000:00000000 01:00000064 00000001     0        0\n";
constexpr std::string_view kTable6 =
    "  sl  local_address                         remote_address                        st\n"
    "   0: 0000000000000000FFFF000003004D0A:0FA0 0000000000000000FFFF000002004D0A:C350 03 0\n"
    "   1: 000000FD000000000000000001000000:0FA0 000000FD000000000000000002000000:C351 03 0\n";

std::vector<std::string> texts(std::string_view table, int port) {
  std::vector<std::string> all;
  for (const IpAddress& address : half_open_in(table, port)) all.push_back(address.to_string());
  return all;
}

TEST(HalfOpen, ThoseWhoKnockedAndGotNoAnswer) {
  EXPECT_EQ(texts(kTable, 4000), std::vector<std::string>{"10.77.0.2"});
  EXPECT_EQ(texts(kTable, 4001), std::vector<std::string>{"10.77.0.4"});
  EXPECT_EQ(texts(kTable, 4002), std::vector<std::string>{});
}

TEST(HalfOpen, WhatIpv6CarriesIsAnIpv4Address) {
  EXPECT_EQ(texts(kTable6, 4000), (std::vector<std::string>{"10.77.0.2", "fd00::2"}));
}

TEST(HalfOpen, ATableThatIsNone) {
  for (const char* table : {"", "\n\n", "1: 2 3 03", "x: :0FA0 zzzzzzzz:0 03", "1: 0:0FA0 0: 03 4"})
    EXPECT_EQ(texts(table, 4000), std::vector<std::string>{}) << table;
}

}  // namespace
}  // namespace paceline::launcher
