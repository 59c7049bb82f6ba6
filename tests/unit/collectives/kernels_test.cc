// The kernels: what single elements make of each other, and vectors of them, wherever they lie.

#include "collectives/reduce/kernels.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/reduce/elements.h"
#include "comm/base/random.h"
#include "comm/base/with_type.h"
#include "comm/bytes.h"

namespace paceline {
namespace {

// Around the lengths of vectors and of several in flight.
constexpr std::size_t kCounts[] = {0, 1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 127, 129, 1009};

float combined(ReduceOp op, float left, float right) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAvg:
    case ReduceOp::kPreMulSum:
      return left + right;
    case ReduceOp::kProd:
      return left * right;
    case ReduceOp::kMin:
      return left < right ? left : right;
    case ReduceOp::kMax:
      return left > right ? left : right;
  }
  return 0;
}

// Any bits at all, but no NaN: whose bits a reduction leaves is not said.
Bytes random_elements(DataType type, std::size_t count, Random& random) {
  Bytes bytes(count * size_of(type));
  with_type(type, [&]<class T>(T) {
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t bits = random.next();
      if (random.chance(0.1)) bits &= 0x8000800080008000;  // zeros of both signs
      std::memcpy(bytes.data() + i * sizeof(T), &bits, sizeof(T));
      if constexpr (std::is_floating_point_v<reduce::Wide<T>>) {
        const auto value = reduce::load_element<T>(bytes.data(), i);
        if (std::isnan(value)) reduce::store_element<T>(bytes.data(), i, reduce::Wide<T>{1});
      }
    }
  });
  return bytes;
}

// Infinities of both signs make a NaN, which any NaN equals.
bool same(DataType type, const std::byte* a, const std::byte* b, std::size_t count) {
  return with_type(type, [&]<class T>(T) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto left = reduce::load_element<T>(a, i);
      const auto right = reduce::load_element<T>(b, i);
      const bool both_nan = left != left && right != right;
      if (!both_nan && std::memcmp(a + i * sizeof(T), b + i * sizeof(T), sizeof(T)) != 0)
        return false;
    }
    return true;
  });
}

std::string words(DataType type, ReduceOp op, std::size_t count) {
  return std::string(name(op)) + " of " + std::to_string(count) + " x " + std::string(name(type));
}

// What each case needs: operands that begin `shift` bytes after a boundary, for every type, op and
// count.
template <class Body>
void for_each_case(const Body& body) {
  Random random(7);
  for (const DataType type : kDataTypes) {
    for (const std::size_t count : kCounts) {
      for (const ReduceOp op : kReduceOps) body(type, op, count, random);
    }
  }
}

TEST(Kernels, PairsAreThePlainOnesBitForBit) {
  for_each_case([](DataType type, ReduceOp op, std::size_t count, Random& random) {
    const Bytes left = random_elements(type, count, random);
    const Bytes right = random_elements(type, count, random);
    Bytes expected(left.size()), result(left.size());
    plain_kernels().of(type).reduction(op)(expected.data(), left.data(), right.data(), count);
    kernels().of(type).reduction(op)(result.data(), left.data(), right.data(), count);
    EXPECT_TRUE(same(type, result.data(), expected.data(), count)) << words(type, op, count);
  });
}

TEST(Kernels, TheTargetMayBeAnOperandAndLieAnywhere) {
  for_each_case([](DataType type, ReduceOp op, std::size_t count, Random& random) {
    const Bytes left = random_elements(type, count, random);
    const Bytes right = random_elements(type, count, random);
    Bytes expected(left.size());
    plain_kernels().of(type).reduction(op)(expected.data(), left.data(), right.data(), count);
    Bytes moved(left.size() + 1), other(left.size() + 3);
    const auto check = [&](std::byte* target) {
      std::copy(left.begin(), left.end(), moved.begin() + 1);
      std::copy(right.begin(), right.end(), other.begin() + 3);
      kernels().of(type).reduction(op)(target, moved.data() + 1, other.data() + 3, count);
      EXPECT_TRUE(same(type, target, expected.data(), count)) << words(type, op, count);
    };
    check(moved.data() + 1);
    check(other.data() + 3);
  });
}

TEST(Kernels, ManyOperandsAreThePlainOnesBitForBit) {
  for_each_case([](DataType type, ReduceOp op, std::size_t count, Random& random) {
    for (const std::size_t operand_count : {1u, 2u, 3u, 8u}) {
      std::vector<Bytes> inputs;
      std::vector<const void*> operands;
      for (std::size_t k = 0; k < operand_count; ++k) {
        inputs.push_back(random_elements(type, count, random));
        operands.push_back(inputs.back().data());
      }
      Bytes expected(count * size_of(type));
      plain_kernels().of(type).fused(op)(expected.data(), operands.data(), operand_count, count);
      // Over the last operand.
      kernels().of(type).fused(op)(inputs.back().data(), operands.data(), operand_count, count);
      EXPECT_TRUE(same(type, inputs.back().data(), expected.data(), count))
          << words(type, op, count) << " of " << operand_count;
    }
  });
}

TEST(Kernels, ScaleAndDivideAreThePlainOnesBitForBit) {
  for_each_case([](DataType type, ReduceOp, std::size_t count, Random& random) {
    const Bytes source = random_elements(type, count, random);
    const Bytes factor = random_elements(type, 1, random);
    Bytes expected(source.size()), result(source.size());
    plain_kernels().of(type).scale(expected.data(), source.data(), factor.data(), count);
    kernels().of(type).scale(result.data(), source.data(), factor.data(), count);
    EXPECT_TRUE(same(type, result.data(), expected.data(), count)) << "scale " << name(type);
    plain_kernels().of(type).divide(expected.data(), count, 3);
    kernels().of(type).divide(result.data(), count, 3);
    EXPECT_TRUE(same(type, result.data(), expected.data(), count)) << "divide " << name(type);
  });
}

TEST(Kernels, WeightedSumsAreThePlainOnesBitForBit) {
  const std::vector<float> weights{1, 4, 2, 16, 1};
  Random random(7);
  for (const std::size_t count : {0u, 1u, 7u, 64u, 1003u}) {
    for (const std::size_t operand_count : {1u, 2u, 5u}) {
      for (const float* const scaled : {static_cast<const float*>(nullptr), weights.data()}) {
        std::vector<Bytes> inputs;
        std::vector<const void*> operands;
        for (std::size_t k = 0; k < operand_count; ++k) {
          inputs.push_back(random_elements(DataType::kFloat16, count, random));
          operands.push_back(inputs.back().data());
        }
        Bytes expected(count * sizeof(Float16));
        plain_kernels()
            .of(DataType::kFloat16)
            .weighted_sum(expected.data(), operands.data(), scaled, operand_count, 8, count);
        // Over the last operand.
        kernels()
            .of(DataType::kFloat16)
            .weighted_sum(inputs.back().data(), operands.data(), scaled, operand_count, 8, count);
        EXPECT_TRUE(same(DataType::kFloat16, inputs.back().data(), expected.data(), count))
            << count << " of " << operand_count;
      }
    }
  }
  EXPECT_EQ(kernels().of(DataType::kFloat32).weighted_sum, nullptr);
}

// Puts a NaN into either operand or both, in every place of a vector and of the remaining elements.
// NaNs are quiet, signalling, and of both signs.
template <class T>
void expect_one_rule(DataType type) {
  using Wide = reduce::Wide<T>;
  constexpr std::size_t kCount = 131;
  const Wide quiet = std::numeric_limits<Wide>::quiet_NaN();
  const auto put = [](Bytes& bytes, std::size_t i, Wide value) {
    reduce::store_element<T>(bytes.data(), i, value);
  };
  // 1: all bits set. 2: a signalling NaN with the smallest payload, made from the bits of infinity.
  const auto put_nan = [&](Bytes& bytes, std::size_t i, int which) {
    put(bytes, i, which == 0 ? quiet : std::numeric_limits<Wide>::infinity());
    std::byte* const element = bytes.data() + i * sizeof(T);
    if (which == 1) std::memset(element, 0xFF, sizeof(T));
    if (which == 2) *element |= std::byte{1};
  };
  for (const ReduceOp op : {ReduceOp::kMin, ReduceOp::kMax}) {
    for (std::size_t place = 0; place < kCount; ++place) {
      for (int side = 0; side < 3; ++side) {
        Bytes left(kCount * sizeof(T)), right(left.size());
        for (std::size_t i = 0; i < kCount; ++i) {
          put(left, i, static_cast<Wide>(i % 5));
          put(right, i, static_cast<Wide>(3));
        }
        const int which = static_cast<int>(place % 3);
        if (side != 1) put_nan(left, place, which);
        if (side != 0) put_nan(right, place, which);
        const void* const operands[] = {left.data(), right.data(), right.data()};
        for (const KernelSet* set : {&kernels(), &plain_kernels()}) {
          for (const bool fused : {false, true}) {
            Bytes result(left.size());
            if (fused)
              set->of(type).fused(op)(result.data(), operands, 3, kCount);
            else
              set->of(type).reduction(op)(result.data(), left.data(), right.data(), kCount);
            for (std::size_t i = 0; i < kCount; ++i) {
              const auto element = reduce::load_element<T>(result.data(), i);
              const auto number =
                  static_cast<Wide>(op == ReduceOp::kMin ? std::min<std::size_t>(i % 5, 3)
                                                         : std::max<std::size_t>(i % 5, 3));
              ASSERT_TRUE(i == place ? std::isnan(element) : element == number)
                  << words(type, op, kCount) << " at " << i << ", NaN at " << place;
            }
          }
        }
      }
    }
  }
}

TEST(Extremes, KeepANaNOfEitherOperand) {
  expect_one_rule<float>(DataType::kFloat32);
  expect_one_rule<double>(DataType::kFloat64);
  expect_one_rule<Float16>(DataType::kFloat16);
  expect_one_rule<BFloat16>(DataType::kBFloat16);
}

// -0 is less than +0, in either order of the operands.
TEST(Extremes, TellZerosApart) {
  constexpr std::size_t kCount = 67;
  for (const DataType type : kDataTypes) {
    with_type(type, [&]<class T>(T) {
      using Wide = reduce::Wide<T>;
      if constexpr (std::is_floating_point_v<Wide>) {
        Bytes left(kCount * sizeof(T)), right(left.size()), result(left.size());
        for (std::size_t i = 0; i < kCount; ++i) {
          reduce::store_element<T>(left.data(), i, i % 2 == 0 ? Wide{0} : -Wide{0});
          reduce::store_element<T>(right.data(), i, i % 2 == 0 ? -Wide{0} : Wide{0});
        }
        for (const ReduceOp op : {ReduceOp::kMin, ReduceOp::kMax}) {
          for (const KernelSet* set : {&kernels(), &plain_kernels()}) {
            set->of(type).reduction(op)(result.data(), left.data(), right.data(), kCount);
            for (std::size_t i = 0; i < kCount; ++i)
              ASSERT_EQ(std::signbit(reduce::load_element<T>(result.data(), i)),
                        op == ReduceOp::kMin)
                  << words(type, op, kCount) << " at " << i;
          }
        }
      }
    });
  }
}

// Written apart from the kernels: sums in exact integers, and what a processor makes of floats.
TEST(PlainKernels, AreWhatTheirNamesSay) {
  const std::int8_t a = -100, b = -100;
  std::int8_t sum = 0;
  plain_kernels().of(DataType::kInt8).reduction(ReduceOp::kSum)(&sum, &a, &b, 1);
  EXPECT_EQ(sum, 56) << "integers wrap";
  std::uint64_t product = 0;
  const std::uint64_t large = std::uint64_t{1} << 63 | 1;
  plain_kernels().of(DataType::kUInt64).reduction(ReduceOp::kProd)(&product, &large, &large, 1);
  EXPECT_EQ(product, 1u);
  for (const ReduceOp op : kReduceOps) {
    const float left = -1.5f, right = 4.25f;
    float result = 0;
    plain_kernels().of(DataType::kFloat32).reduction(op)(&result, &left, &right, 1);
    EXPECT_EQ(result, combined(op, left, right)) << name(op);
  }
  std::int32_t average = -7;
  plain_kernels().of(DataType::kInt32).divide(&average, 1, 2);
  EXPECT_EQ(average, -3) << "rounded towards zero";
}

TEST(PlainKernels, HalvesAreAddedWideAndRoundedOnce) {
  // 2048 + 1 + 1 in float16, whose integers end at 2048: one after the other rounds both away.
  const Float16 large = Float16(2048), one = Float16(1);
  const void* operands[] = {&large, &one, &one};
  Float16 result;
  plain_kernels().of(DataType::kFloat16).fused(ReduceOp::kSum)(&result, operands, 3, 1);
  EXPECT_EQ(result.to_float(), 2050);
}

TEST(Halves, EveryFloat16ComesBack) {
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const Float16 half = Float16::from_bits(static_cast<std::uint16_t>(bits));
    const float value = half.to_float();
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(Float16(value).to_float()));
    } else {
      EXPECT_EQ(Float16(value).bits, bits);
    }
  }
}

// The nearest of all float16 values, the even one of two: by search.
TEST(Halves, FloatsRoundToTheNearestFloat16) {
  const auto at = [](std::uint16_t bits) {
    return bits == 0x7C00 ? 65536.0 : double{Float16::from_bits(bits).to_float()};
  };
  Random random(3);
  for (int i = 0; i < 200'000; ++i) {
    const auto below = static_cast<std::uint16_t>(random.below(0x7C00));
    const double low = at(below), high = at(static_cast<std::uint16_t>(below + 1));
    const double middle = (low + high) / 2;
    const auto near =
        std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(middle)) +
                             static_cast<std::uint32_t>(random.below(3)) - 1);
    const bool up = near > middle || (near == middle && below % 2 != 0);
    EXPECT_EQ(Float16(near).bits, below + (up ? 1 : 0)) << near;
    EXPECT_EQ(Float16(-near).bits, (below + (up ? 1 : 0)) | 0x8000) << -near;
  }
}

TEST(Halves, FloatsRoundToTheNearestBFloat16) {
  EXPECT_EQ(BFloat16(1.0f).bits, 0x3F80);
  EXPECT_EQ(BFloat16(std::bit_cast<float>(0x3F808000u)).bits, 0x3F80) << "tie to even";
  EXPECT_EQ(BFloat16(std::bit_cast<float>(0x3F818000u)).bits, 0x3F82) << "tie to even";
  EXPECT_EQ(BFloat16(std::bit_cast<float>(0x3F808001u)).bits, 0x3F81);
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits, 0x7F80) << "infinity";
  EXPECT_TRUE(std::isnan(BFloat16(std::bit_cast<float>(0x7F800001u)).to_float()));
}

}  // namespace
}  // namespace paceline
