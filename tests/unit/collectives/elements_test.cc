// Elements of every type are filled and compared as a loop over them would.

#include "tests/harness/elements.h"

#include <cstring>

#include <gtest/gtest.h>

namespace paceline::testing {
namespace {

constexpr std::size_t kLengths[] = {0, 1, kPeriod - 1, kPeriod, kPeriod + 1, 5 * kPeriod + 7};

Elements of(DataType type, std::size_t count) {
  return inputs_of({.type = type, .number = 3}, 2, count);
}

TEST(Elements, HoldWhatTheyWereFilledWith) {
  for (const DataType type : kDataTypes) {
    for (const std::size_t count : kLengths) {
      const Elements right = of(type, std::min(count, kPeriod));
      EXPECT_EQ(of(type, count).first_other(right), std::nullopt) << name(type) << " x " << count;
    }
  }
}

TEST(Elements, OneThatIsNotRightIsFoundWhereverItStands) {
  constexpr std::size_t kCount = 3 * kPeriod + 5;
  for (const DataType type : kDataTypes) {
    for (std::size_t index = 0; index < kCount; ++index) {
      Elements elements = of(type, kCount);
      std::memset(static_cast<char*>(elements.data()) + index * size_of(type), 0x11, size_of(type));
      EXPECT_EQ(elements.first_other(of(type, kPeriod)), index) << name(type);
    }
  }
}

TEST(Elements, AreComparedWithTheirOwnPlaces) {
  Elements moved(DataType::kInt32, kPeriod);
  const Elements right = of(DataType::kInt32, 10 * kPeriod);
  std::memcpy(moved.data(), static_cast<const std::byte*>(right.data()) + 4, 4 * kPeriod);
  EXPECT_EQ(right.first_other(moved), 0u);
}

TEST(Elements, AreReadInWords) {
  Elements elements(DataType::kBFloat16, 2);
  elements.fill([](std::size_t index) { return index == 0 ? -3 : 4; });
  EXPECT_EQ(elements.text(0), "-3");
  EXPECT_EQ(elements.text(1), "4");
}

}  // namespace
}  // namespace paceline::testing
