#include "collectives/gradient/path_meter.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(PathMeter, IsOfTheOperationsThatHaveMovedMost) {
  PathMeter meter;
  EXPECT_EQ(meter.beta_us(10), 0);
  for (int i = 0; i < 9; ++i) meter.add(100, 1010);
  meter.add(1000, 2010);
  EXPECT_EQ(meter.beta_us(10), 2);
  EXPECT_EQ(meter.beta_us(10'000), 0) << "an operation of that size was quicker";
  meter.clear();
  meter.add(0, 5);
  EXPECT_EQ(meter.beta_us(0), 0);
}

// Whoever waits for a rank that comes late measures that.
TEST(PathMeter, IsTheLowerQuartileOfThoseThatAreAboutAsLarge) {
  PathMeter meter;
  meter.add(1024, 1024);
  meter.add(2047, 2 * 2047);
  meter.add(1500, 1e9);
  meter.add(1024, 1e6);
  EXPECT_EQ(meter.beta_us(0), 2);
}

}  // namespace
}  // namespace paceline
