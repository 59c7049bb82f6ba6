#include <array>
#include <cstddef>

#include <gtest/gtest.h>

#include "collectives/gradient/arithmetic.h"

namespace paceline {
namespace {

// Two of three ranks have data, each the largest number. The average over three ranks is rounded
// up, and 3/2 of it is beyond the largest number.
TEST(FinishElements, ARescaledAverageIsFiniteWhereItsValuesAre) {
  const float largest = 65504;
  std::array<Float16, 3> elements{Float16(2 * largest / 3), Float16(-2 * largest / 3), Float16(2)};
  const Finished finished =
      finish_elements(DataType::kFloat16, reinterpret_cast<std::byte*>(elements.data()), 3,
                      {.multiplier = 3, .divisor = 2, .finds_overflow = true});
  EXPECT_TRUE(finished.is_finite);
  EXPECT_EQ(elements[0].to_float(), largest);
  EXPECT_EQ(elements[1].to_float(), -largest);
  EXPECT_EQ(elements[2].to_float(), 3);
}

TEST(FinishElements, AnInfinityStaysOne) {
  std::array<Float16, 1> elements{Float16(1e6F)};
  EXPECT_FALSE(finish_elements(DataType::kFloat16, reinterpret_cast<std::byte*>(elements.data()), 1,
                               {.multiplier = 3, .divisor = 2, .finds_overflow = true})
                   .is_finite);
}

// 7/5 has no code in bfloat16: what is in memory is 0.3 % less.
TEST(FinishElements, TheNormIsThatOfTheElementsInMemory) {
  std::array<BFloat16, 2> elements{BFloat16(7), BFloat16(7)};
  const Finished finished =
      finish_elements(DataType::kBFloat16, reinterpret_cast<std::byte*>(elements.data()), 2,
                      {.divisor = 5, .sums_squares = true});
  const double stored = elements[0].to_float();
  EXPECT_NE(stored, 1.4);
  EXPECT_EQ(finished.sum_of_squares, 2 * stored * stored);
}

}  // namespace
}  // namespace paceline
