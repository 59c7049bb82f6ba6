// Codecs of elements and blocks: vectors against loops bit by bit, what is lost, what is kept.

#include "collectives/gradient/codecs/dense_codec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/gradient/codecs/dense_rows.h"
#include "comm/base/random.h"
#include "comm/bytes.h"
#include "tests/unit/collectives/each_target.h"

namespace paceline {
namespace {

using Floats = std::vector<float>;
using Limits = std::numeric_limits<float>;

// Several blocks and vectors, and all that may be left of either.
constexpr std::size_t kMostElements = 9 * 64 + 40;

// Where codes change, or end.
constexpr float kSpecialValues[] = {
    0.0F,       -0.0F,           1.0F,       -1.0F,      0x1p-149F,      -0x1p-149F,
    0x1p-127F,  0x1.8p-127F,     0x1p-126F,  -0x1p-126F, 0x1p-133F,      0x1.018p0F,
    0x1.028p0F, 0x1.01p0F,       0x1.03p0F,  0x1.002p0F, 0x1.006p0F,     0x1p-24F,
    0x1p-25F,   0x1.000002p-25F, 0x1.8p-24F, -0x1p-14F,  0x1.ffcp-15F,   65504.0F,
    65519.0F,   0x1.ffdffep15F,  1e-30F,     -1e30F,     0x1.fdfffep127F};
constexpr float kLargeValues[] = {65520.0F,
                                  0x1.ffp127F,
                                  Limits::max(),
                                  Limits::lowest(),
                                  Limits::infinity(),
                                  -Limits::infinity(),
                                  Limits::quiet_NaN(),
                                  std::bit_cast<float>(0xFFC12345U)};

// What elements are: of similar magnitude, of any, special ones among them, or any bits at all.
enum class Kind { kSimilar, kAny, kSpecial, kTooLarge };
constexpr Kind kInputs[] = {Kind::kSimilar, Kind::kAny, Kind::kSpecial, Kind::kTooLarge};

float one_of(std::span<const float> values, Random& random) {
  return values[random.below(values.size())];
}

float similar(Random& random) {
  return static_cast<float>(random.unit() + random.unit() + random.unit() - 1.5) * 0.01F;
}

float element(Kind kind, Random& random) {
  switch (kind) {
    case Kind::kSimilar:
      return similar(random);
    case Kind::kAny:
      return std::ldexp(similar(random), static_cast<int>(random.below(40)) - 20);
    case Kind::kSpecial:
      return random.chance(0.3) ? one_of(kSpecialValues, random) : similar(random);
    case Kind::kTooLarge:
      return random.chance(0.01) ? one_of(kLargeValues, random) : similar(random);
  }
  return 0;
}

Floats elements(Kind kind, std::size_t count, Random& random) {
  Floats all(count);
  for (float& one : all) one = element(kind, random);
  return all;
}

// Not a number is as good as another one.
bool same(const Floats& a, const Floats& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool both_nan = std::isnan(a[i]) && std::isnan(b[i]);
    if (!both_nan && std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i]))
      return false;
  }
  return true;
}

// What a codec makes of elements, its codes lying `shift` bytes behind a boundary.
struct Outcome {
  bool all_finite = false;
  Bytes codes;
  Floats residual, decoded, added;
};

Outcome outcome_of(const DenseCodec& codec, const Floats& in, const Floats& residual,
                   std::size_t shift = 0) {
  Outcome out{.residual = residual, .decoded = Floats(in.size(), -7.0F), .added = in};
  Bytes codes(shift + codec.encoded_bytes(in.size()));
  float* const kept = residual.empty() ? nullptr : out.residual.data();
  out.all_finite = codec.encode(in.data(), kept, kept, in.size(), codes.data() + shift);
  codec.decode(codes.data() + shift, in.size(), out.decoded.data());
  codec.decode_add(codes.data() + shift, in.size(), out.added.data());
  out.codes.assign(codes.begin() + static_cast<std::ptrdiff_t>(shift), codes.end());
  return out;
}

void expect_same(const DenseCodec& codec, const Floats& in, const Floats& residual,
                 std::size_t shift, const DenseCodec& plain) {
  const Outcome expected = outcome_of(plain, in, residual);
  const Outcome actual = outcome_of(codec, in, residual, shift);
  const std::string where = std::string(name(codec.codec)) + " of " + std::to_string(in.size()) +
                            (residual.empty() ? "" : " with a residual");
  EXPECT_EQ(actual.all_finite, expected.all_finite) << where;
  EXPECT_EQ(actual.codes, expected.codes) << where;
  EXPECT_TRUE(same(actual.residual, expected.residual)) << where;
  EXPECT_TRUE(same(actual.decoded, expected.decoded)) << where;
  EXPECT_TRUE(same(actual.added, expected.added)) << where;
}

// Use(codec, plain) for each row, as on each kind of processor.
template <class Use>
void for_each_pair(const Use& use) {
  for_each_target([&] {
    const DenseCodec codecs[] = {bf16_codec(), fp16_codec(), int8_codec()};
    ASSERT_EQ(std::size(codecs), plain_dense_codecs().size());
    for (std::size_t row = 0; row < std::size(codecs); ++row) {
      ASSERT_EQ(codecs[row].codec, plain_dense_codecs()[row].codec);
      ASSERT_EQ(codecs[row].codec, dense_codecs()[row].codec);
      use(codecs[row], plain_dense_codecs()[row]);
    }
  });
}

TEST(DenseCodecs, AreThePlainOnesBitForBitWhereverCodesLie) {
  Random random(11);
  for_each_pair([&](const DenseCodec& codec, const DenseCodec& plain) {
    for (std::size_t count = 0; count <= kMostElements; ++count) {
      for (const Kind kind : kInputs) {
        const Floats in = elements(kind, count, random);
        expect_same(codec, in, {}, count % 5, plain);
        expect_same(codec, in, elements(Kind::kSimilar, count, random), count % 3, plain);
      }
    }
  });
}

TEST(DenseCodecs, EveryFloatOfEachExponentIsAsThePlainOnes) {
  Floats in;
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper) {
    for (const std::uint32_t lower : {0x0000U, 0x0FFFU, 0x1000U, 0x7FFFU, 0x8000U, 0x8001U})
      in.push_back(std::bit_cast<float>(upper << 16 | lower));
  }
  for_each_pair([&](const DenseCodec& codec, const DenseCodec& plain) {
    expect_same(codec, in, {}, 0, plain);
  });
}

TEST(DenseCodecs, WhatIsDecodedAndWhatIsLostMakeWhatWasEncoded) {
  Random random(12);
  for (const DenseCodec& codec : dense_codecs()) {
    for (const Kind kind : {Kind::kSimilar, Kind::kAny, Kind::kSpecial}) {
      const Floats in = elements(kind, kMostElements, random);
      const Floats residual = elements(Kind::kSimilar, in.size(), random);
      const Outcome out = outcome_of(codec, in, residual);
      for (std::size_t i = 0; i < in.size(); ++i) {
        if (!std::isfinite(out.decoded[i])) continue;
        const float encoded = in[i] + residual[i];
        ASSERT_EQ(double{out.decoded[i]} + double{out.residual[i]}, double{encoded})
            << name(codec.codec) << " of " << encoded;
      }
    }
  }
}

// The most that a codec may lose of an element, in a block whose largest is `largest`.
double most_lost(Codec codec, double value, double largest) {
  if (codec == Codec::kBf16) return std::max(std::abs(value) * 0x1p-8, 0x1p-134);
  if (codec == Codec::kFp16) return std::max(std::abs(value) * 0x1p-11, 0x1p-25);
  return std::max(largest / 252, 0x1p-127);
}

TEST(DenseCodecs, LoseNoMoreThanTheirFormatsDo) {
  Random random(13);
  for (const DenseCodec& codec : dense_codecs()) {
    for (const Kind kind : {Kind::kSimilar, Kind::kAny}) {
      const Floats in = elements(kind, kMostElements, random);
      const Outcome out = outcome_of(codec, in, {});
      EXPECT_TRUE(out.all_finite);
      for (std::size_t i = 0; i < in.size(); ++i) {
        double largest = 0;
        const std::size_t begin = i / codec.block * codec.block;
        for (std::size_t k = begin; k < std::min(begin + codec.block, in.size()); ++k)
          largest = std::max(largest, std::abs(double{in[k]}));
        ASSERT_LE(std::abs(double{out.decoded[i]} - double{in[i]}),
                  most_lost(codec.codec, double{in[i]}, largest) * (1 + 1e-4))
            << name(codec.codec) << " of " << in[i];
      }
    }
  }
}

TEST(DenseCodecs, WhatIsLostComesLater) {
  Random random(14);
  for (const DenseCodec& codec : dense_codecs()) {
    const Floats in = elements(Kind::kSimilar, 700, random);
    Floats residual(in.size()), decoded(in.size());
    std::vector<double> sent(in.size());
    Bytes codes(codec.encoded_bytes(in.size()));
    constexpr int kSteps = 300;
    for (int step = 0; step < kSteps; ++step) {
      ASSERT_TRUE(
          codec.encode(in.data(), residual.data(), residual.data(), in.size(), codes.data()));
      codec.decode(codes.data(), in.size(), decoded.data());
      for (std::size_t i = 0; i < in.size(); ++i) sent[i] += double{decoded[i]};
    }
    for (std::size_t i = 0; i < in.size(); ++i) {
      // All steps together lose no more than one does, but for roundings of in + residual.
      EXPECT_LE(std::abs(double{residual[i]}), 0.015 / 127);
      EXPECT_NEAR(sent[i] + double{residual[i]}, kSteps * double{in[i]}, kSteps * 1e-9);
    }
  }
}

TEST(DenseCodecs, WhatIsNotFiniteIsDecodedSoAndKeepsItsResidual) {
  for (const DenseCodec& codec : dense_codecs()) {
    for (const float bad : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()}) {
      for (const std::size_t at : {0U, 300U, 601U}) {
        Floats in(602, 0.5F);
        in[at] = bad;
        const Outcome out = outcome_of(codec, in, Floats(in.size(), 0.0125F));
        EXPECT_FALSE(out.all_finite);
        for (std::size_t i = 0; i < in.size(); ++i) {
          const bool is_bad = i / codec.block == at / codec.block;
          ASSERT_EQ(std::isfinite(out.decoded[i]), !is_bad) << name(codec.codec) << " at " << i;
          ASSERT_EQ(out.residual[i] == 0.0125F, is_bad) << name(codec.codec) << " at " << i;
        }
      }
    }
  }
}

TEST(DenseCodecs, WhatIsTooLargeIsFound) {
  const auto is_found = [](Codec codec, float value) {
    const Outcome out = outcome_of(*find_dense_codec(codec), Floats(33, value), {});
    EXPECT_EQ(std::isfinite(out.decoded[32]), out.all_finite);
    return !out.all_finite;
  };
  EXPECT_TRUE(is_found(Codec::kFp16, 65520));
  EXPECT_FALSE(is_found(Codec::kFp16, 65519));
  EXPECT_TRUE(is_found(Codec::kBf16, Limits::max()));
  EXPECT_FALSE(is_found(Codec::kBf16, 0x1.fefffep127F));
  EXPECT_FALSE(is_found(Codec::kInt8, Limits::max()));
}

TEST(DenseCodecs, ZerosAndTheSmallestNumbers) {
  for (const DenseCodec& codec : dense_codecs()) {
    const Outcome zeros = outcome_of(codec, Floats(300, -0.0F), Floats(300, 0.0F));
    EXPECT_EQ(zeros.decoded, Floats(300, 0.0F)) << name(codec.codec);
    EXPECT_EQ(zeros.residual, Floats(300, 0.0F)) << name(codec.codec);
    // What has no code is kept.
    const Outcome least = outcome_of(codec, Floats(300, 0x1p-149F), Floats(300, 0.0F));
    EXPECT_EQ(least.decoded, Floats(300, 0.0F)) << name(codec.codec);
    EXPECT_EQ(least.residual, Floats(300, 0x1p-149F)) << name(codec.codec);
  }
}

TEST(DenseCodecs, AScaleIsOfItsBlockAlone) {
  Floats in(128, 1.0F);
  std::fill(in.begin() + 64, in.end(), 1e-6F);
  const Outcome out = outcome_of(*find_dense_codec(Codec::kInt8), in, {});
  EXPECT_NEAR(out.decoded[0], 1.0F, 1.0F / 252);
  EXPECT_NEAR(out.decoded[64], 1e-6F, 1e-6F / 252);
}

TEST(DenseCodecs, PartsThatBeginAtABlockCanBeCutOut) {
  Random random(15);
  const Floats in = elements(Kind::kSimilar, kMostElements, random);
  for (const DenseCodec& codec : dense_codecs()) {
    const Outcome all = outcome_of(codec, in, {});
    const std::size_t begin = 256, bytes = codec.encoded_bytes(begin);
    const Outcome part = outcome_of(codec, Floats(in.begin() + begin, in.end()), {});
    EXPECT_EQ(Bytes(all.codes.begin() + static_cast<std::ptrdiff_t>(bytes), all.codes.end()),
              part.codes);
  }
}

TEST(DenseCodecs, BytesAreHalfAndAQuarterWithAScaleForEachBlock) {
  const auto bytes = [](Codec codec, std::size_t count) {
    return find_dense_codec(codec)->encoded_bytes(count);
  };
  EXPECT_EQ(bytes(Codec::kBf16, 1001), 2002U);
  EXPECT_EQ(bytes(Codec::kFp16, 0), 0U);
  EXPECT_EQ(bytes(Codec::kInt8, 0), 0U);
  EXPECT_EQ(bytes(Codec::kInt8, 1), 3U);
  EXPECT_EQ(bytes(Codec::kInt8, 64), 68U);
  EXPECT_EQ(bytes(Codec::kInt8, 65), 71U);
}

TEST(DenseCodecs, OthersHaveNoRow) {
  for (const Codec codec : {Codec::kNone, Codec::kTopK, Codec::kPowerSgd, Codec::kAuto})
    EXPECT_EQ(find_dense_codec(codec), nullptr) << name(codec);
}

TEST(CodecNames, AreThoseOfTheCommandLine) {
  for (std::size_t i = 0; i < kCodecs; ++i) {
    const auto codec = static_cast<Codec>(i);
    EXPECT_EQ(parse_codec(name(codec)), codec);
  }
  EXPECT_EQ(name(Codec::kNone), "none");
  EXPECT_EQ(name(Codec::kPowerSgd), "powersgd");
  EXPECT_EQ(name(Codec::kAuto), "auto");
  EXPECT_EQ(name(static_cast<Codec>(77)), "unknown");
  for (const char* other : {"", "int", "int80", "INT8", "unknown"})
    EXPECT_EQ(parse_codec(other), std::nullopt) << other;
}

}  // namespace
}  // namespace paceline
