#include "comm/base/assert.h"

#include <gtest/gtest.h>

namespace {

TEST(Assert, LetsPassWhatHolds) {
  int evaluated = 0;
  PACELINE_ASSERT(++evaluated == 1);
  EXPECT_EQ(evaluated, 1);
}

TEST(AssertDeathTest, EndsTheProcessAndSaysWhatAndWhere) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(PACELINE_ASSERT(1 + 1 == 3),
               "assertion failed: 1 \\+ 1 == 3 .*assert_test\\.cc:[0-9]+");
}

}  // namespace
