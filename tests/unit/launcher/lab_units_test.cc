#include "launcher/tools/lab/lab_units.h"

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

using namespace std::chrono_literals;

TEST(LabUnits, Rates) {
  EXPECT_EQ(*parse_bit_rate("1gbit"), 1'000'000'000);
  EXPECT_EQ(*parse_bit_rate("1.5gbit"), 1'500'000'000);
  EXPECT_EQ(*parse_bit_rate("300mbit"), 300'000'000);
  EXPECT_EQ(*parse_bit_rate("64kbit"), 64'000);
  EXPECT_EQ(*parse_bit_rate("8000bit"), 8'000);
  for (const char* text : {"", "1", "gbit", "-1gbit", "+1gbit", "1 gbit", "1Gbit", "7kbit",
                           "401gbit", "1gbps", "nangbit", "infgbit", "1e400gbit"})
    EXPECT_FALSE(parse_bit_rate(text).ok()) << text;
  EXPECT_EQ(parse_bit_rate("1 g\x1b").status().text(),
            "'1 g?' is not a rate from 8kbit to 400gbit; write 1gbit or 300mbit (bits per second)");
}

TEST(LabUnits, RatesAsText) {
  EXPECT_EQ(bit_rate_text(0), "no limit");
  EXPECT_EQ(bit_rate_text(1'000'000'000), "1gbit");
  EXPECT_EQ(bit_rate_text(1'500'000'000), "1.5gbit");
  EXPECT_EQ(bit_rate_text(300'000'000), "300mbit");
  EXPECT_EQ(bit_rate_text(8'000), "8kbit");
}

TEST(LabUnits, Delays) {
  EXPECT_EQ(*parse_delay("200us"), 200us);
  EXPECT_EQ(*parse_delay("0.5ms"), 500us);
  EXPECT_EQ(*parse_delay("60s"), 60s);
  EXPECT_EQ(*parse_delay("0us"), 0us);
  for (const char* text : {"", "1", "61s", "-1ms", "1m", "1 ms"})
    EXPECT_FALSE(parse_delay(text).ok()) << text;
}

TEST(LabUnits, DelaysAsText) {
  EXPECT_EQ(delay_text(200us), "200us");
  EXPECT_EQ(delay_text(2500us), "2.5ms");
  EXPECT_EQ(delay_text(60s), "60s");
  EXPECT_EQ(delay_text(500ns), "0.5us");
}

TEST(LabUnits, LossesSizesAndCpus) {
  EXPECT_EQ(*parse_loss("30"), 30'000);
  EXPECT_EQ(*parse_loss("0.1%"), 100);
  EXPECT_EQ(*parse_loss("100"), 100'000);
  for (const char* text : {"", "%", "-1", "100.1", "x"})
    EXPECT_FALSE(parse_loss(text).ok()) << text;
  EXPECT_EQ(*parse_mtu("68"), 68);
  EXPECT_EQ(*parse_mtu("1500"), 1500);
  for (const char* text : {"", "67", "1501", "1e3"}) EXPECT_FALSE(parse_mtu(text).ok()) << text;
  EXPECT_EQ(*parse_cpus("0.5"), 500);
  EXPECT_EQ(*parse_cpus("2"), 2000);
  for (const char* text : {"", "0", "0.001", "-1", "1001"})
    EXPECT_FALSE(parse_cpus(text).ok()) << text;
}

}  // namespace
}  // namespace paceline::launcher
