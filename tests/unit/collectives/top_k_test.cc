// Top-k against a sort of everything, what is left for later, and entries that nobody would send.

#include "collectives/gradient/codecs/top_k.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/gradient/codecs/magnitudes.h"
#include "comm/base/random.h"
#include "comm/bytes.h"
#include "tests/unit/collectives/each_target.h"

namespace paceline {
namespace {

using Floats = std::vector<float>;
using Limits = std::numeric_limits<float>;

struct Entry {
  std::uint32_t place = 0;
  float value = 0;

  bool operator==(const Entry&) const = default;
};
using Entries = std::vector<Entry>;

Bytes bytes_of(const Entries& entries) {
  Bytes bytes(entries.size() * sizeof(Entry));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    std::memcpy(bytes.data() + 4 * i, &entries[i].place, 4);
    std::memcpy(bytes.data() + 4 * (entries.size() + i), &entries[i].value, 4);
  }
  return bytes;
}

Entries entries_of(const Bytes& bytes) {
  Entries entries(bytes.size() / sizeof(Entry));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    std::memcpy(&entries[i].place, bytes.data() + 4 * i, 4);
    std::memcpy(&entries[i].value, bytes.data() + 4 * (entries.size() + i), 4);
  }
  return entries;
}

// By definition.
Entries largest_of(const Floats& values, std::size_t k) {
  std::vector<std::uint32_t> places(values.size());
  std::iota(places.begin(), places.end(), 0U);
  std::ranges::stable_sort(places, std::greater(),
                           [&](std::uint32_t place) { return std::abs(values[place]); });
  places.resize(k);
  std::ranges::sort(places);
  Entries entries;
  for (const std::uint32_t place : places) entries.push_back({place, values[place]});
  return entries;
}

Bytes encoded(const Floats& in, std::size_t k, Floats* residual = nullptr) {
  TopK top_k;
  Bytes bytes(TopK::encoded_bytes(k));
  float* const kept = residual == nullptr ? nullptr : residual->data();
  EXPECT_TRUE(top_k.encode(in.data(), kept, kept, in.size(), k, bytes.data()));
  return bytes;
}

// Of similar magnitude, or of any, with equal ones among them; zeros, too.
Floats elements(std::size_t count, Random& random) {
  const bool has_equals = random.chance(0.5);
  const int exponents = random.chance(0.5) ? 1 : 250;
  Floats all(count);
  for (float& one : all) {
    const double value = has_equals ? static_cast<double>(random.below(4)) : random.unit();
    const int exponent = static_cast<int>(random.below(static_cast<std::uint64_t>(exponents)));
    one = static_cast<float>(std::ldexp(random.chance(0.5) ? value : -value, -exponent));
  }
  return all;
}

TEST(TopK, TakesTheLargestAndOfEqualsTheFirst) {
  Random random(21);
  for (std::size_t count = 1; count < 400; ++count) {
    const Floats in = elements(count, random);
    for (const std::size_t k : {std::size_t{1}, count / 100 + 1, count / 3 + 1, count})
      ASSERT_EQ(entries_of(encoded(in, k)), largest_of(in, k)) << k << " of " << count;
  }
}

// Enough elements for the lot: of similar magnitude; most of them zeros; all equal but few; and
// large ones where the lot does not fall, or falls too often.
TEST(TopK, LargeArraysAreAsSmallOnes) {
  constexpr std::size_t kCount = 100'003;
  Random random(26);
  std::vector<Floats> cases(5, Floats(kCount));
  for (float& one : cases[0]) one = static_cast<float>(random.unit() - 0.5);
  for (std::size_t i = 0; i < 500; ++i) cases[1][random.below(kCount)] = -1.0F;
  for (std::size_t i = 0; i < 500; ++i) cases[2][random.below(kCount)] = 0x1p-140F;
  std::ranges::fill(cases[3], 2.0F);
  for (std::size_t i = 0; i < kCount; ++i)
    cases[4][i] = static_cast<float>(std::exp2(-30.0 * static_cast<double>(i) / kCount));
  for (const Floats& in : cases) {
    for (const std::size_t k : {1U, 10U, 1000U, 60'000U, 100'003U})
      ASSERT_EQ(entries_of(encoded(in, k)), largest_of(in, k)) << &in - cases.data() << " " << k;
    Floats residual(kCount, 0.0F), added(kCount);
    ASSERT_TRUE(add_top_k(encoded(in, 1000, &residual), kCount, added.data()));
    for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(added[i] + residual[i], in[i]);
  }
}

// The lot is drawn by count alone: what it draws can be told, and made to mislead.
TEST(TopK, AMisleadingLotMakesNoDifference) {
  constexpr std::size_t kCount = 80'000, kTaken = 800;
  for (const float drawn : {1.0F, 1e-20F}) {
    Floats in(kCount, 0.5F);
    Random lot(kCount);
    for (int i = 0; i < 16384; ++i) in[lot.below(kCount)] = drawn;
    ASSERT_EQ(entries_of(encoded(in, kTaken)), largest_of(in, kTaken)) << drawn;
  }
}

TEST(TopK, AllEqualsAndAllZerosAreTakenFromTheFirstOn) {
  for (const float value : {0.0F, -0.0F, 1.5F, -Limits::max(), Limits::denorm_min()}) {
    const Floats in(1000, value);
    EXPECT_EQ(entries_of(encoded(in, 300)), largest_of(in, 300)) << value;
  }
}

TEST(TopK, WhatIsNotTakenIsLeftForLater) {
  Random random(22);
  for (const std::size_t count : {1U, 5U, 64U, 333U, 1000U}) {
    const Floats in = elements(count, random), before = elements(count, random);
    Floats values(count), residual = before, added(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = in[i] + before[i];
    const std::size_t k = TopK::entries(count, 0.1);
    const Bytes bytes = encoded(in, k, &residual);
    EXPECT_EQ(entries_of(bytes), largest_of(values, k));
    ASSERT_TRUE(add_top_k(bytes, count, added.data()));
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(added[i] + residual[i], values[i]);
      ASSERT_TRUE(added[i] == 0 || residual[i] == 0);
    }
  }
}

// Each element is taken before its residual exceeds what k of the others can hold back.
TEST(TopK, WhatIsLeftComesLater) {
  Random random(23);
  constexpr std::size_t kCount = 300, kTaken = 30;
  constexpr int kSteps = 400;
  Floats in(kCount), residual(kCount), sent(kCount);
  for (float& one : in) one = static_cast<float>(1 + random.below(16)) / 16;
  for (int step = 0; step < kSteps; ++step)
    ASSERT_TRUE(add_top_k(encoded(in, kTaken, &residual), kCount, sent.data()));
  for (std::size_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(sent[i] + residual[i], kSteps * in[i]) << "sums of sixteenths are exact";
    EXPECT_LE(residual[i], 2.0F * kCount / kTaken);
  }
}

TEST(TopK, WhatIsNotFiniteIsSaidAndKeepsTheResidual) {
  for (const float bad : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()}) {
    for (const std::size_t at : {0U, 50U, 99U}) {
      Floats in(100, 1.0F), residual(100, 0.25F), added(100);
      in[at] = bad;
      Bytes bytes(TopK::encoded_bytes(7));
      TopK top_k;
      EXPECT_FALSE(
          top_k.encode(in.data(), residual.data(), residual.data(), in.size(), 7, bytes.data()));
      EXPECT_EQ(residual, Floats(100, 0.25F));
      ASSERT_TRUE(add_top_k(bytes, added.size(), added.data()));
      EXPECT_FALSE(std::isfinite(added[0]));
    }
  }
}

TEST(TopK, EntriesAreAShareButOneAtLeast) {
  EXPECT_EQ(TopK::entries(0, 0.01), 0U);
  EXPECT_EQ(TopK::entries(1, 0.01), 1U);
  EXPECT_EQ(TopK::entries(1000, 0.01), 10U);
  EXPECT_EQ(TopK::entries(1049, 0.01), 10U);
  EXPECT_EQ(TopK::entries(1050, 0.01), 11U);
  EXPECT_EQ(TopK::entries(5, 1.0), 5U);
  EXPECT_EQ(TopK::encoded_bytes(10), 80U);
}

TEST(TopK, EntriesThatNobodyEncodesAreRefusedAndNothingIsAdded) {
  const auto is_refused = [](const Bytes& bytes) {
    Floats out(10, 1.0F);
    const bool is_taken = add_top_k(bytes, out.size(), out.data());
    EXPECT_TRUE(is_taken || out == Floats(10, 1.0F));
    return !is_taken;
  };
  EXPECT_FALSE(is_refused({}));
  EXPECT_FALSE(is_refused(bytes_of({{0, 1}, {9, 2}})));
  EXPECT_TRUE(is_refused(bytes_of({{0, 1}, {10, 2}}))) << "beyond the last";
  EXPECT_TRUE(is_refused(bytes_of({{0xFFFFFFFF, 1}}))) << "far beyond";
  EXPECT_TRUE(is_refused(bytes_of({{3, 1}, {3, 2}}))) << "twice";
  EXPECT_TRUE(is_refused(bytes_of({{4, 1}, {3, 2}}))) << "in another order";
  EXPECT_TRUE(is_refused(Bytes(12))) << "half an entry";
}

// Any bits, or few different ones, so that some equal what is asked for.
Floats any_bits(std::size_t count, Random& random) {
  const std::uint64_t mask = random.chance(0.5) ? 0xFFFFFFFFU : 0x80010000U;
  Floats all(count);
  for (float& one : all)
    one = std::bit_cast<float>(static_cast<std::uint32_t>(random.next() & mask));
  return all;
}

void expect_plain_passes(std::size_t count, bool has_residual, Random& random) {
  const MagnitudePasses &passes = magnitude_passes(), &plain = plain_magnitude_passes();
  const Floats in = any_bits(count, random);
  Floats left(count);
  for (float& one : left) one = random.chance(0.5) ? 0.0F : static_cast<float>(random.unit());
  Floats right = left;
  float* const kept = has_residual ? left.data() : nullptr;
  float* const plain_kept = has_residual ? right.data() : nullptr;
  const std::uint32_t least = count == 0 ? 0 : magnitude_of(in[random.below(count)]);
  const MagnitudeSurvey survey = passes.survey(in.data(), kept, count, least);
  ASSERT_EQ(survey, plain.survey(in.data(), plain_kept, count, least)) << count;
  const MagnitudeCut cut = {.least = least, .equals = random.below(survey.equal + 3)};
  std::vector<std::uint32_t> places(count, 77), expected(count, 77);
  passes.collect(in.data(), kept, kept, count, cut, places.data());
  plain.collect(in.data(), plain_kept, plain_kept, count, cut, expected.data());
  ASSERT_EQ(places, expected) << count;
  ASSERT_TRUE(std::ranges::equal(std::as_bytes(std::span(left)), std::as_bytes(std::span(right))));
}

TEST(MagnitudePasses, AreThePlainOnesOnEachProcessor) {
  Random random(24);
  for_each_target([&] {
    for (std::size_t count = 0; count < 300; ++count) {
      expect_plain_passes(count, false, random);
      expect_plain_passes(count, true, random);
    }
  });
}

TEST(MagnitudeCut, HasExactlySoManyAboveIt) {
  Random random(25);
  for (std::size_t count = 1; count < 200; ++count) {
    const Floats in = any_bits(count, random);
    for (const std::size_t k : {std::size_t{1}, count / 2 + 1, count}) {
      const MagnitudeCut cut = cut_after(in.data(), nullptr, count, k);
      const MagnitudeSurvey survey =
          plain_magnitude_passes().survey(in.data(), nullptr, count, cut.least);
      ASSERT_EQ(survey.above + cut.equals, k);
      ASSERT_LE(cut.equals, survey.equal);
      ASSERT_GT(cut.equals, 0U);
    }
  }
}

}  // namespace
}  // namespace paceline
