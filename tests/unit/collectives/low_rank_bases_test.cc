// Which matrices PowerSGD makes of buckets, and where they begin when buckets change.
#include "collectives/gradient/low_rank_bases.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline {
namespace {

constexpr std::size_t kRank = 2;

// Gradients begin at elements 0, 7936, 8032 (100 and what pads it to 112) and 8144.
struct Site {
  GradientArena arena =
      GradientArena::make(std::vector<Parameter>{{.name = "a", .count = 7930, .columns = 61},
                                                 {.name = "bias", .count = 96, .columns = 96},
                                                 {.name = "c", .count = 100},
                                                 {.name = "d", .count = 3000, .columns = 30}})
          .value();
  LowRankBases bases{arena, kRank};

  // In elements.
  std::vector<LowRankPart> parts(std::size_t begin, std::size_t end) const {
    Bucket bucket{.spans = {{.begin = begin * 4, .bytes = (end - begin) * 4}}};
    for (std::size_t i = 0; i < arena.size(); ++i) {
      const ByteSpan& place = arena.place(i);
      if (place.begin < end * 4 && place.end() > begin * 4) bucket.gradients.push_back(i);
    }
    return bases.parts_of(bucket);
  }
  std::vector<float> basis_of(const LowRankPart& part) {
    const std::span<float> basis = bases.of(part);
    return {basis.begin(), basis.end()};
  }
};

TEST(LowRankBases, ABucketHasAMatrixForEachGradientWithoutWhatPadsThem) {
  const Site site;
  const std::vector<LowRankPart> parts = site.parts(0, site.arena.bytes() / 4);
  ASSERT_EQ(parts.size(), 4U);
  EXPECT_EQ(parts[0],
            (LowRankPart{.begin = 0, .shape = {.count = 7930, .columns = 61, .rank = kRank}}));
  EXPECT_EQ(parts[1],
            (LowRankPart{.begin = 7936, .shape = {.count = 96, .columns = 96, .rank = 1}}));
  EXPECT_FALSE(parts[1].shape.pays());
  EXPECT_EQ(parts[2],
            (LowRankPart{.begin = 8032, .shape = {.count = 100, .columns = 16, .rank = 2}}));
  EXPECT_EQ(parts[3].begin, 8144U);
  EXPECT_EQ(parts[3].shape.rows(), 100U);
}

TEST(LowRankBases, APartOfAGradientHasItsColumns) {
  const Site site;
  const std::vector<LowRankPart> parts = site.parts(128, 8048);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].begin, 128U);
  EXPECT_EQ(parts[0].shape, (MatrixShape{.count = 7802, .columns = 61, .lead = 6, .rank = kRank}));
  EXPECT_EQ(parts[2].shape, (MatrixShape{.count = 16, .columns = 16, .rank = 1}));
}

TEST(LowRankBases, AreDrawnAlikeAndOrthonormal) {
  Site one, other;
  const std::vector<LowRankPart> parts = one.parts(0, 8144);
  one.bases.set_parts(parts);
  other.bases.set_parts(parts);
  const std::vector<float> basis = one.basis_of(parts[0]);
  EXPECT_EQ(basis, other.basis_of(parts[0]));
  float squares = 0, product = 0;
  for (std::size_t i = 0; i < 61; ++i) {
    squares += basis[i] * basis[i];
    product += basis[i] * basis[61 + i];
  }
  EXPECT_NEAR(squares, 1, 1e-5);
  EXPECT_NEAR(product, 0, 1e-5);
}

// A bucket of all, then cuts, then other cuts, then all again.
TEST(LowRankBases, GoOnWhereThoseOfTheBucketsBeforeEnded) {
  Site site;
  const auto whole = site.parts(0, 7936), first = site.parts(0, 4800),
             second = site.parts(4800, 7936);
  site.bases.set_parts(whole);
  std::ranges::fill(site.bases.of(whole[0]), 0.25F);
  const std::vector<LowRankPart> cut = {first[0], second[0]};
  site.bases.set_parts(cut);
  EXPECT_EQ(site.basis_of(cut[0]), std::vector<float>(122, 0.25F));
  EXPECT_EQ(site.basis_of(cut[1]), std::vector<float>(122, 0.25F));
  std::ranges::fill(site.bases.of(cut[1]), 0.5F);
  const std::vector<LowRankPart> later = {site.parts(0, 3200)[0], site.parts(3200, 7936)[0]};
  site.bases.set_parts(later);
  EXPECT_EQ(site.basis_of(later[0]), std::vector<float>(122, 0.25F));
  EXPECT_EQ(site.basis_of(later[1]), std::vector<float>(122, 0.5F)) << "more of it was there";
  site.bases.set_parts(whole);
  EXPECT_EQ(site.basis_of(whole[0]), std::vector<float>(122, 0.5F));
}

TEST(LowRankBases, OfWhatIsNotAMatrixForAWhileAreKept) {
  Site site;
  const auto a = site.parts(0, 7936), d = site.parts(8144, 11152);
  site.bases.set_parts(a);
  std::ranges::fill(site.bases.of(a[0]), 0.25F);
  site.bases.set_parts({});
  site.bases.set_parts(d);
  site.bases.set_parts(a);
  EXPECT_EQ(site.basis_of(a[0]), std::vector<float>(122, 0.25F));
}

TEST(LowRankBases, APartOfTooFewRowsForTheRankHasTheFirstOfThem) {
  Site site;
  const auto whole = site.parts(0, 7936);
  site.bases.set_parts(whole);
  const std::vector<float> before = site.basis_of(whole[0]);
  // 61 columns: parts of a row are none that pay, so the basis of the rest alone goes on.
  const std::vector<LowRankPart> cut = {site.parts(0, 48)[0], site.parts(48, 7936)[0]};
  EXPECT_FALSE(cut[0].shape.pays());
  site.bases.set_parts(cut);
  EXPECT_EQ(site.basis_of(cut[1]), before);
}

TEST(LowRankBases, ComeBackAsTheyWereSaved) {
  Site site, other;
  const auto parts = site.parts(0, 8144);
  site.bases.set_parts(parts);
  std::ranges::fill(site.bases.of(parts[0]), 0.25F);
  site.bases.commit();
  Bytes saved;
  site.bases.save(saved);
  ASSERT_TRUE(other.bases.load(saved).ok());
  other.bases.set_parts(parts);
  EXPECT_EQ(other.basis_of(parts[0]), site.basis_of(parts[0]));
  EXPECT_EQ(other.basis_of(parts[2]), site.basis_of(parts[2]));
  const float* const place = other.bases.of(parts[0]).data();
  std::ranges::fill(other.bases.of(parts[0]), 0.5F);
  ASSERT_TRUE(other.bases.load(saved).ok());
  EXPECT_EQ(other.bases.of(parts[0]).data(), place) << "buckets know where they lie";
  EXPECT_EQ(other.basis_of(parts[0]), site.basis_of(parts[0]));
  Bytes again;
  other.bases.save(again);
  EXPECT_EQ(saved, again);
}

TEST(LowRankBases, OfAStepThatDoesNotCountAreWhatTheyWere) {
  Site site;
  const auto parts = site.parts(0, 8144);
  site.bases.set_parts(parts);
  const std::vector<float> first = site.basis_of(parts[0]);
  std::ranges::fill(site.bases.of(parts[0]), 0.25F);
  site.bases.roll_back();
  EXPECT_EQ(site.basis_of(parts[0]), first);
  std::ranges::fill(site.bases.of(parts[0]), 0.25F);
  site.bases.commit();
  const std::vector<float> second = site.basis_of(parts[0]);
  Bytes before, meanwhile;
  site.bases.save(before);
  std::ranges::fill(site.bases.of(parts[0]), 0.5F);
  site.bases.save(meanwhile);
  EXPECT_EQ(meanwhile, before) << "a state that is saved in the middle of a step";
  site.bases.roll_back();
  EXPECT_EQ(site.basis_of(parts[0]), second);
  site.bases.set_parts(parts);
  site.bases.roll_back();
  EXPECT_EQ(site.basis_of(parts[0]), second) << "where buckets were decided anew";
}

TEST(LowRankBases, WhatIsDamagedIsRefusedAndChangesNothing) {
  Site site;
  const auto parts = site.parts(0, 8144);
  site.bases.set_parts(parts);
  Bytes saved;
  site.bases.save(saved);
  const std::vector<float> before = site.basis_of(parts[0]);
  for (std::size_t length = 0; length < saved.size(); length += 1 + length / 3)
    EXPECT_FALSE(site.bases.load(ByteView(saved).first(length)).ok()) << length;
  const auto refuses = [&](std::size_t at, int value) {
    Bytes damaged = saved;
    damaged[at] = static_cast<std::byte>(value);
    return !site.bases.load(damaged).ok();
  };
  EXPECT_TRUE(refuses(0, 9)) << "how many";
  EXPECT_TRUE(refuses(15, 0xFF)) << "where the first begins";
  EXPECT_TRUE(refuses(8, 1)) << "a part that ends beyond its gradient";
  EXPECT_TRUE(refuses(23, 0xFF)) << "how many elements it has";
  EXPECT_TRUE(refuses(27, 0x7F)) << "what is not finite";
  saved.push_back(std::byte{0});
  EXPECT_FALSE(site.bases.load(saved).ok());
  EXPECT_EQ(site.basis_of(parts[0]), before);
}

TEST(LowRankBases, ColumnsThatDoNotDivideAreRefused) {
  const auto made = GradientArena::make(
      std::vector<Parameter>{{.name = "a", .count = 10}, {.name = "b", .count = 10, .columns = 3}});
  EXPECT_EQ(made.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(made.status().text(), "parameter 1 (b): 10 elements are not a multiple of 3 columns");
}

}  // namespace
}  // namespace paceline
