#include "launcher/tools/measure/probe/loop/pattern.h"

#include <vector>

#include <gtest/gtest.h>

namespace paceline::probe {
namespace {

// Longer than the pattern's table, and a multiple of nothing.
constexpr std::size_t kCount = 10007;

template <class T>
std::vector<T> filled(const Pattern& pattern, int rank, std::uint64_t call,
                      std::size_t count = kCount) {
  std::vector<T> values(count, T{77});
  pattern.fill({values.data(), count, kDataTypeOf<T>}, rank, call);
  return values;
}

template <class T>
T combined(ReduceOp op, T left, T right) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAvg:
    case ReduceOp::kPreMulSum:
      return static_cast<T>(left + right);
    case ReduceOp::kProd:
      return static_cast<T>(left * right);
    case ReduceOp::kMin:
      return std::min(left, right);
    case ReduceOp::kMax:
      return std::max(left, right);
  }
  return {};
}

template <class T>
class PatternOf : public ::testing::Test {};
using Types = ::testing::Types<float, double, std::int32_t, std::int64_t, std::int8_t, std::uint8_t,
                               std::uint64_t>;
TYPED_TEST_SUITE(PatternOf, Types);

TYPED_TEST(PatternOf, ReductionsAreExact) {
  constexpr int kRanks = 5;
  for (const ReduceOp op : kReduceOps) {
    const Pattern pattern(kDataTypeOf<TypeParam>, op, kRanks);
    std::vector<TypeParam> result = filled<TypeParam>(pattern, 0, 9);
    for (int rank = 1; rank < kRanks; ++rank) {
      const std::vector<TypeParam> other = filled<TypeParam>(pattern, rank, 9);
      for (std::size_t i = 0; i < kCount; ++i) {
        result[i] = combined(op, result[i], other[i]);
      }
    }
    if (op == ReduceOp::kAvg)
      for (TypeParam& sum : result) sum = static_cast<TypeParam>(sum / TypeParam{kRanks});
    const Elements elements{result.data(), kCount, kDataTypeOf<TypeParam>};
    EXPECT_EQ(pattern.wrong_reduction(elements, 9), 0u) << name(op);
    ++result[0];
    ++result[kCount - 1];
    EXPECT_EQ(pattern.wrong_reduction(elements, 9), 2u) << name(op);
  }
}

TYPED_TEST(PatternOf, CopiesAreExact) {
  const Pattern pattern(kDataTypeOf<TypeParam>, ReduceOp::kSum, 3);
  std::vector<TypeParam> values = filled<TypeParam>(pattern, 2, 5);
  const Elements elements{values.data(), kCount, kDataTypeOf<TypeParam>};
  EXPECT_EQ(pattern.wrong_copy(elements, 2, 5), 0u);
  EXPECT_GT(pattern.wrong_copy(elements, 1, 5), kCount / 2) << "another rank's";
  EXPECT_GT(pattern.wrong_copy(elements, 2, 6), kCount / 2) << "the next call's";
}

TEST(Pattern, WritesNoFurther) {
  const Pattern pattern(DataType::kInt32, ReduceOp::kSum, 2);
  std::vector<std::int32_t> values(12, 77);
  pattern.fill({values.data(), 11, DataType::kInt32}, 1, 0);
  EXPECT_EQ(values[11], 77);
  EXPECT_NE(values[10], 77);
}

TEST(Pattern, OneElementAndNone) {
  const Pattern pattern(DataType::kFloat64, ReduceOp::kSum, 2);
  std::vector<double> one = filled<double>(pattern, 0, 0, 1);
  EXPECT_EQ(pattern.wrong_copy({one.data(), 1, DataType::kFloat64}, 0, 0), 0u);
  EXPECT_EQ(pattern.wrong_copy({nullptr, 0, DataType::kFloat64}, 0, 0), 0u);
}

}  // namespace
}  // namespace paceline::probe
