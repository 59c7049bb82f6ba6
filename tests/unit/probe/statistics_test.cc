#include "launcher/tools/measure/probe/loop/statistics.h"

#include <gtest/gtest.h>

namespace paceline::probe {
namespace {

using Numbers = std::vector<double>;

TEST(Statistics, NearestRank) {
  const Numbers values{5, 1, 4, 2, 3};
  EXPECT_EQ(quantile(values, 0), 1);
  EXPECT_EQ(quantile(values, 0.1), 1);
  EXPECT_EQ(quantile(values, 0.2), 1);
  EXPECT_EQ(quantile(values, 0.21), 2);
  EXPECT_EQ(quantile(values, 0.5), 3);
  EXPECT_EQ(quantile(values, 0.99), 5);
  EXPECT_EQ(quantile(values, 1), 5);
  EXPECT_EQ(quantile(Numbers{7}, 0.5), 7);
  EXPECT_EQ(quantile(Numbers{}, 0.5), 0);
}

TEST(Statistics, TheTenthOfTwentyOneIsTheThird) {
  Numbers values;
  for (int i = 21; i >= 1; --i) values.push_back(i);
  EXPECT_EQ(quantile(values, 0.1), 3);
  EXPECT_EQ(quantile(values, 0.5), 11);
}

// Two samples of three ranks: begin, end, begin, end.
constexpr std::int64_t kMoments[] = {10, 20, 100, 130, 12, 25, 90, 120, 11, 19, 95, 125};

TEST(Statistics, FromTheFirstBeginToTheLastEnd) {
  EXPECT_EQ(operation_times(kMoments, 3, true), (Numbers{15, 40}));
}

TEST(Statistics, WithoutOneClockTheLongest) {
  EXPECT_EQ(operation_times(kMoments, 3, false), (Numbers{13, 30}));
}

TEST(Statistics, NothingOfNothing) { EXPECT_EQ(operation_times({}, 2, true), Numbers()); }

}  // namespace
}  // namespace paceline::probe
