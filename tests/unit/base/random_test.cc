#include "comm/base/random.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace paceline {
namespace {

// The values that everybody's SplitMix64 gives: schedules replay across versions and hosts.
TEST(Random, IsSplitMix64) {
  Random zero(0);
  EXPECT_EQ(zero.next(), 0xE220A8397B1DCDAFull);
  EXPECT_EQ(zero.next(), 0x6E789E6AA1B965F4ull);
  EXPECT_EQ(zero.next(), 0x06C45D188009454Full);
  Random other(1234567);
  EXPECT_EQ(other.next(), 6457827717110365317ull);
  EXPECT_EQ(other.next(), 3203168211198807973ull);
}

TEST(Random, BelowStaysBelowAndReachesAll) {
  Random random(1);
  for (const std::uint64_t bound : {1ull, 2ull, 3ull, 7ull, 10ull}) {
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t value = random.below(bound);
      ASSERT_LT(value, bound);
      seen.insert(value);
    }
    EXPECT_EQ(seen.size(), bound);
  }
  EXPECT_EQ(random.below(0), 0u);
  for (int i = 0; i < 1000; ++i) ASSERT_LT(random.below(1ull << 63), 1ull << 63);
}

TEST(Random, BelowIsEven) {
  constexpr int kDraws = 90'000;
  Random random(2);
  std::array<int, 9> counts{};
  for (int i = 0; i < kDraws; ++i) ++counts[random.below(counts.size())];
  // 10,000 each, standard deviation 94: six of them.
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 570);
}

TEST(Random, UnitLiesBetweenZeroAndOne) {
  Random random(3);
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double value = random.unit();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    sum += value;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.02);
}

TEST(Random, ChanceKeepsItsProbability) {
  Random random(4);
  int hits = 0;
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_FALSE(random.chance(0.0));
    EXPECT_TRUE(random.chance(1.0));
    hits += random.chance(0.3);
  }
  EXPECT_NEAR(hits, 3000, 300);
}

TEST(Random, AForkGoesItsOwnWay) {
  Random parent(5), same(5);
  Random child = parent.fork();
  Random again = same.fork();
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t value = child.next();
    EXPECT_EQ(value, again.next());
    EXPECT_NE(value, parent.next());
  }
}

TEST(SystemRandom, FillsEverythingItIsGivenAndNothingElse) {
  ASSERT_TRUE(fill_system_random({}).ok());
  // getrandom() gives long requests in parts; all zero by chance: once in 2^128 per window.
  for (const std::size_t size : {std::size_t{16}, std::size_t{1} << 20}) {
    std::vector<std::byte> bytes(size + 1);
    ASSERT_TRUE(fill_system_random(std::span(bytes).first(size)).ok());
    const auto is_zero = [](std::byte byte) { return byte == std::byte{}; };
    for (std::size_t at = 0; at < size; at += 16) {
      const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at);
      ASSERT_FALSE(std::all_of(begin, begin + 16, is_zero)) << "at " << at;
    }
    EXPECT_EQ(bytes.back(), std::byte{});
  }
}

TEST(SystemRandom, NeverRepeatsItself) {
  std::set<std::array<std::byte, 32>> seen;
  for (int i = 0; i < 100; ++i) {
    std::array<std::byte, 32> bytes{};
    ASSERT_TRUE(fill_system_random(bytes).ok());
    EXPECT_TRUE(seen.insert(bytes).second);
  }
}

}  // namespace
}  // namespace paceline
