// Which codec a bucket uses, by figures whose times are known.

#include "collectives/gradient/codec_choice.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace paceline {
namespace {

// 4 MB of float32, which take 100 + 4000 us plain.
CodedBucket bucket_of(int ranks) {
  return {.bytes = 4'000'000, .ranks = ranks, .path = {.alpha_us = 100, .beta_us = 0.001}};
}

// 800 us of work, 200 + 1000 us on the wire.
constexpr CodecFigures kInt8 = {.codec = Codec::kInt8,
                                .encode_us_per_byte = 0.00015,
                                .decode_us_per_byte = 0.00005,
                                .encoded_share = 0.25,
                                .operations = 2,
                                .relative_error = 0.008};
// 400 us of work, 200 + 2000 us on the wire.
constexpr CodecFigures kBf16 = {.codec = Codec::kBf16,
                                .encode_us_per_byte = 0.00005,
                                .decode_us_per_byte = 0.00005,
                                .encoded_share = 0.5,
                                .operations = 2,
                                .relative_error = 0.002};

// One that takes so long.
CodecFigures taking(Codec codec, double us) {
  return {.codec = codec,
          .encode_us_per_byte = (us - 100) / 4e6,
          .encoded_share = 0,
          .operations = 1,
          .relative_error = 0.001};
}

Codec choose(Codec current, std::vector<CodecFigures> codecs, ChoiceRules rules = {}) {
  return choose_codec(current, codecs, bucket_of(4), rules);
}

TEST(CodecChoice, TimesAreWorkAndWire) {
  EXPECT_DOUBLE_EQ(plain_us(bucket_of(4)), 4100);
  const CodecTimes int8 = times_of(kInt8, bucket_of(4));
  EXPECT_DOUBLE_EQ(int8.work_us, 800);
  EXPECT_DOUBLE_EQ(int8.wire_us, 1200);
  EXPECT_DOUBLE_EQ(int8.total_us(), 2000);
  EXPECT_DOUBLE_EQ(times_of(kBf16, bucket_of(2)).total_us(), 2600);
}

// Plain, each of n sends 2(n-1)/n of the bytes; of top-k (n-1) times its entries.
TEST(CodecChoice, TopKSendsMoreWithEachRank) {
  const CodecFigures top_k = {.codec = Codec::kTopK, .encoded_share = 0.02, .operations = 1};
  for (const int ranks : {2, 3, 8, 64}) {
    const double n = ranks;
    const double beta_of_sent_us = 0.001 * n / (2 * (n - 1));
    EXPECT_NEAR(times_of(top_k, bucket_of(ranks)).wire_us, 100 + (n - 1) * 80'000 * beta_of_sent_us,
                1e-6);
  }
}

TEST(CodecChoice, TheFastestWithinTheBudgetIsTaken) {
  EXPECT_EQ(choose(Codec::kNone, {kBf16, kInt8}), Codec::kInt8);
  EXPECT_EQ(choose(Codec::kNone, {kBf16, kInt8}, {.error_budget = 0.005}), Codec::kBf16);
  EXPECT_EQ(choose(Codec::kNone, {kBf16, kInt8}, {.error_budget = 0.001}), Codec::kNone);
  EXPECT_EQ(choose(Codec::kNone, {}), Codec::kNone);
}

TEST(CodecChoice, ErrorsThatAreNoNumberAreBeyondAnyBudget) {
  CodecFigures unknown = kInt8;
  unknown.relative_error = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(choose(Codec::kNone, {unknown}, {.error_budget = 1e9}), Codec::kNone);
}

TEST(CodecChoice, OneRankSendsNothing) {
  const std::vector<CodecFigures> codecs = {kInt8};
  EXPECT_EQ(choose_codec(Codec::kInt8, codecs, bucket_of(1), {}), Codec::kNone);
}

TEST(CodecChoice, WhatIsOffHasToBeFasterByTheMargin) {
  EXPECT_EQ(choose(Codec::kNone, {taking(Codec::kInt8, 3'700)}), Codec::kNone);
  EXPECT_EQ(choose(Codec::kNone, {taking(Codec::kInt8, 3'680)}), Codec::kInt8);
}

TEST(CodecChoice, WhatIsOnStaysWhileItLosesNothing) {
  EXPECT_EQ(choose(Codec::kInt8, {taking(Codec::kInt8, 4'090)}), Codec::kInt8);
  EXPECT_EQ(choose(Codec::kInt8, {taking(Codec::kInt8, 4'110)}), Codec::kNone);
  EXPECT_EQ(choose(Codec::kInt8, {kInt8}, {.error_budget = 0.007}), Codec::kNone);
  EXPECT_EQ(choose(Codec::kInt8, {}), Codec::kNone) << "it was not measured";
}

TEST(CodecChoice, AnotherCodecHasToBeFasterByTheMarginToo) {
  const CodecFigures now = taking(Codec::kBf16, 2'000);
  EXPECT_EQ(choose(Codec::kBf16, {now, taking(Codec::kInt8, 1'810)}), Codec::kBf16);
  EXPECT_EQ(choose(Codec::kBf16, {now, taking(Codec::kInt8, 1'790)}), Codec::kInt8);
  // What now loses against plain transfer is no measure for others.
  const CodecFigures slow = taking(Codec::kBf16, 5'000);
  EXPECT_EQ(choose(Codec::kBf16, {slow, taking(Codec::kInt8, 3'700)}), Codec::kNone);
  EXPECT_EQ(choose(Codec::kBf16, {slow, taking(Codec::kInt8, 3'600)}), Codec::kInt8);
}

// Times that differ by less than the margin from step to step.
TEST(CodecChoice, DoesNotComeAndGo) {
  Codec codec = Codec::kNone;
  int changes = 0;
  for (int step = 0; step < 100; ++step) {
    const Codec next = choose(codec, {taking(Codec::kInt8, step % 2 == 0 ? 3'600 : 3'900)});
    changes += next != codec;
    codec = next;
  }
  EXPECT_EQ(codec, Codec::kInt8);
  EXPECT_EQ(changes, 1);
}

TEST(CodecChoice, SaysWhyACodecIsOff) {
  CodedBucket fast = bucket_of(4);
  fast.path = {.alpha_us = 100, .beta_us = 0.0005};
  CodecFigures slow = kInt8;
  slow.encode_us_per_byte = 0.0007;
  EXPECT_EQ(why_off(slow, fast, {}),
            "int8 is off: 3 ms to encode and decode plus 700 us on the wire are not faster than "
            "2.1 ms without a codec");
  EXPECT_EQ(why_off(kInt8, bucket_of(4), {.error_budget = 0.005}),
            "int8 is off: its error of 0.8 % is above the budget of 0.5 %");
  EXPECT_EQ(why_off(kInt8, bucket_of(1), {}), "int8 is off: a single rank sends nothing");
  EXPECT_EQ(why_off(kInt8, bucket_of(4), {}), std::nullopt);
}

}  // namespace
}  // namespace paceline
