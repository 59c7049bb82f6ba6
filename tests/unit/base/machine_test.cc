#include "comm/base/machine.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(Machine, IsTheSameEachTimeAndAnotherWhereTheCpusAre) {
  EXPECT_EQ(machine_fingerprint(), machine_fingerprint());
  EXPECT_EQ(machine_fingerprint().size(), 16u);
  EXPECT_NE(machine_fingerprint(), machine_fingerprint("/nowhere"));
}

}  // namespace
}  // namespace paceline
