// Elements of every type are filled and compared as a loop over them would.

#include "tests/sim/elements.h"

#include <cstring>

#include <gtest/gtest.h>

namespace paceline::testing {
namespace {

constexpr std::size_t kCounts[] = {0, 1, kPeriod - 1, kPeriod, kPeriod + 1, 5 * kPeriod + 7};

int value_at(std::size_t index) { return input_of(2, 3, index); }

TEST(Elements, HoldWhatTheyWereFilledWith) {
  for (const DataType type : kDataTypes) {
    for (const std::size_t count : kCounts) {
      Elements elements(type, count);
      elements.fill(value_at);
      EXPECT_EQ(elements.first_other(value_at), std::nullopt) << name(type) << " x " << count;
    }
  }
}

TEST(Elements, OneThatIsNotRightIsFoundWhereverItStands) {
  constexpr std::size_t kCount = 3 * kPeriod + 5;
  for (const DataType type : kDataTypes) {
    for (std::size_t index = 0; index < kCount; ++index) {
      Elements elements(type, kCount);
      elements.fill(value_at);
      std::memset(static_cast<char*>(elements.data()) + index * size_of(type), 0x11, size_of(type));
      EXPECT_EQ(elements.first_other(value_at), index) << name(type);
    }
  }
}

TEST(Elements, AreComparedWithTheirOwnPlaces) {
  Elements elements(DataType::kInt32, 10 * kPeriod);
  elements.fill(value_at);
  EXPECT_EQ(elements.first_other([](std::size_t index) { return value_at(index + 1); }), 0u);
}

}  // namespace
}  // namespace paceline::testing
