// How long buckets are, by what the path takes.
#include "collectives/gradient/measured_schedule.h"

#include <vector>

#include <gtest/gtest.h>

namespace paceline {
namespace {

constexpr std::size_t kKiB = 1024, kMiB = kKiB << 10;

// Of 64 MiB of gradients that are ready at once. The rate is what a rank sends.
std::size_t first_bucket_bytes(int ranks, double bytes_per_us) {
  const std::vector<Parameter> parameters{{.name = "a", .count = (64 * kMiB) / sizeof(float)}};
  const GradientArena arena = GradientArena::make(parameters).value();
  MeasuredSchedule schedule(arena, parameters, {});
  schedule.hear(std::vector<double>{0}, ranks);
  const double sent_twice = 2.0 * (ranks - 1) / ranks;
  const PathCost path{.alpha_us = 100, .beta_us = sent_twice / bytes_per_us, .overlaps = true};
  return schedule.decide(path, {false}, false).buckets.at(0).bytes();
}

TEST(MeasuredSchedule, ARanksPartKeepsTheWireBusyWhileTheRankDoesNotRun) {
  EXPECT_EQ(first_bucket_bytes(2, 117), 6 * kMiB);  // 1 Gbit/s: 27 ms
  EXPECT_EQ(first_bucket_bytes(4, 117), 12 * kMiB);
  EXPECT_EQ(first_bucket_bytes(2, 60), 3 * kMiB);
  EXPECT_EQ(first_bucket_bytes(4, 30), 3 * kMiB);
}

TEST(MeasuredSchedule, APartHasBounds) {
  EXPECT_EQ(first_bucket_bytes(2, 1.17), 768 * kKiB);
  EXPECT_EQ(first_bucket_bytes(2, 11'700), 6 * kMiB);
  EXPECT_EQ(first_bucket_bytes(16, 117), 12 * kMiB);
}

}  // namespace
}  // namespace paceline
