#include "launcher/tools/measure/probe/loop/limit.h"

#include <gtest/gtest.h>

#include "tests/unit/probe/shared_ranks.h"

namespace paceline::probe {
namespace {

constexpr Machine kMachine{.flag_ns = 100, .bytes_per_ns = 10};

double limit(const char* operation, std::size_t bytes, int ranks) {
  return limit_ns(*find_operation(operation), bytes, ranks, kMachine);
}

TEST(Limit, FlagsGoInRounds) {
  EXPECT_DOUBLE_EQ(limit("barrier", 0, 1), 0);
  EXPECT_DOUBLE_EQ(limit("barrier", 0, 2), 100);
  EXPECT_DOUBLE_EQ(limit("barrier", 0, 3), 200);
  EXPECT_DOUBLE_EQ(limit("barrier", 0, 4), 200);
  EXPECT_DOUBLE_EQ(limit("barrier", 0, 5), 300);
}

TEST(Limit, EveryOutputIsWrittenOnce) {
  EXPECT_DOUBLE_EQ(limit("all_reduce", 1000, 2), 100 + 2 * 100);
  EXPECT_DOUBLE_EQ(limit("broadcast", 1000, 2), 100 + 100);
  EXPECT_DOUBLE_EQ(limit("broadcast", 1000, 4), 200 + 3 * 100);
  EXPECT_DOUBLE_EQ(limit("reduce_scatter", 1000, 4), 200 + 100) << "a block on each rank";
  EXPECT_DOUBLE_EQ(limit("gather", 1000, 4), 200 + 75) << "all blocks but the root's own";
}

TEST(Limit, WithoutARateFlagsAlone) {
  EXPECT_DOUBLE_EQ(
      limit_ns(*find_operation("all_reduce"), 1000, 2, {.flag_ns = 7, .bytes_per_ns = 0}), 7);
}

TEST(Limit, AFlagTakesTime) {
  const NamelessFile file;
  run_ranks(3, [&](int rank) {
    const SystemClock clock;
    const auto meeting =
        SharedMeeting::open(file.path(), {.rank = rank, .ranks = 3, .cpus = 1}, clock);
    const Result<double> flag = measure_flag_ns(**meeting, clock);
    ASSERT_TRUE(flag.ok()) << flag.status().to_string();
    EXPECT_GT(*flag, 0);
  });
}

}  // namespace
}  // namespace paceline::probe
