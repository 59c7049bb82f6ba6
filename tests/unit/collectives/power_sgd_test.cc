// PowerSGD: matrices of known rank, several ranks, what is lost, and what is not finite.

#include "collectives/gradient/codecs/power_sgd.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/gradient/codecs/orthonormal.h"
#include "comm/base/random.h"

namespace paceline {
namespace {

using Floats = std::vector<float>;

Floats random_floats(std::size_t count, Random& random) {
  Floats all(count);
  for (float& one : all) one = static_cast<float>(2 * random.unit() - 1);
  return all;
}

double length_of(const Floats& values) {
  double squares = 0;
  for (const float value : values) squares += double{value} * double{value};
  return std::sqrt(squares);
}

Floats difference(const Floats& a, const Floats& b) {
  Floats all(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) all[i] = a[i] - b[i];
  return all;
}

double relative_error(const Floats& in, const Floats& out) {
  return length_of(difference(in, out)) / length_of(in);
}

MatrixShape square(std::size_t count, std::size_t rank) {
  return MatrixShape::of(count, MatrixShape::square_columns(count), rank);
}

// A matrix of that rank: whole rows, of which some elements may not be there.
Floats matrix_of_rank(std::size_t rank, const MatrixShape& shape, Random& random) {
  Floats all(shape.count);
  for (std::size_t k = 0; k < rank; ++k) {
    const Floats left = random_floats(shape.rows(), random);
    const Floats right = random_floats(shape.columns, random);
    for (std::size_t i = 0; i < shape.count; ++i)
      all[i] += left[(shape.lead + i) / shape.columns] * right[(shape.lead + i) % shape.columns];
  }
  return all;
}
Floats matrix_of_rank(std::size_t rank, std::size_t count, Random& random) {
  return matrix_of_rank(rank, square(count, rank), random);
}

// Some ranks in one process: what all_reduce() would do to their P and Q.
void sum_over(std::vector<std::span<float>> parts) {
  for (std::size_t i = 0; i < parts.front().size(); ++i) {
    float sum = 0;
    for (const std::span<float> part : parts) sum += part[i];
    for (const std::span<float> part : parts) part[i] = sum;
  }
}

struct RankOfJob {
  MatrixShape shape;
  std::uint64_t seed = 7;
  Floats basis, in, residual, out;
  Floats p, q;
  bool is_finite = false;

  PowerSgd codec() { return {shape, basis, seed}; }
};

void reduce(std::vector<RankOfJob>& ranks) {
  std::vector<std::span<float>> parts;
  for (RankOfJob& rank : ranks) {
    rank.codec().project(rank.in.data(), rank.residual.data(), rank.p);
    parts.push_back(rank.p);
  }
  sum_over(parts);
  parts.clear();
  for (RankOfJob& rank : ranks) {
    rank.codec().back_project(rank.in.data(), rank.residual.data(), rank.residual.data(), rank.p,
                              rank.q);
    parts.push_back(rank.q);
  }
  sum_over(parts);
  for (RankOfJob& rank : ranks)
    rank.is_finite = rank.codec().expand(rank.p, rank.q, rank.out.data());
}

RankOfJob rank_with(const Floats& in, const MatrixShape& shape) {
  RankOfJob made{.shape = shape,
                 .basis = Floats(shape.q_floats()),
                 .in = in,
                 .residual = Floats(in.size()),
                 .out = Floats(in.size(), -1.0F),
                 .p = Floats(shape.p_floats()),
                 .q = Floats(shape.q_floats())};
  complete_basis(made.basis, shape.columns, made.seed);
  return made;
}
RankOfJob rank_with(const Floats& in, std::size_t rank) {
  return rank_with(in, square(in.size(), rank));
}

TEST(PowerSgd, AMatrixIsNearlySquareWhereNothingIsKnown) {
  EXPECT_EQ(square(0, 4), MatrixShape());
  EXPECT_EQ(square(1, 4), (MatrixShape{.count = 1, .columns = 16, .rank = 1}));
  EXPECT_EQ(square(100, 4), (MatrixShape{.count = 100, .columns = 16, .rank = 4}));
  EXPECT_EQ(square(100, 4).rows(), 7U);
  const MatrixShape large = square(4 << 20, 4);
  EXPECT_EQ(large, (MatrixShape{.count = 4 << 20, .columns = 2048, .rank = 4}));
  EXPECT_EQ(large.rows(), 2048U);
  EXPECT_EQ(large.p_floats() + large.q_floats(), 16384U);
}

TEST(PowerSgd, AMatrixHasAllElements) {
  for (std::size_t count = 1; count < 5000; count = count * 5 / 4 + 1) {
    for (const std::size_t columns : {1U, 9U, 16U, 147U}) {
      for (const std::size_t lead : {0U, 5U, 146U}) {
        if (lead >= columns) continue;
        const MatrixShape shape = MatrixShape::of(count, columns, 2, lead);
        EXPECT_GE(shape.rows() * columns, lead + count);
        EXPECT_LT((shape.rows() - 1) * columns, lead + count);
      }
    }
  }
}

TEST(PowerSgd, AMatrixPaysWhereLessOfItTravels) {
  EXPECT_TRUE(MatrixShape::of(192 * 2000, 2000, 4).pays());
  EXPECT_FALSE(MatrixShape::of(2000, 2000, 4).pays()) << "a vector";
  EXPECT_FALSE(MatrixShape::of(2000, 1, 4).pays());
  EXPECT_FALSE(MatrixShape::of(64, 8, 4).pays()) << "as much as its elements";
  EXPECT_TRUE(MatrixShape::of(81, 9, 4).pays());
  EXPECT_FALSE(MatrixShape().pays());
}

// Short first and last rows are of as many columns as the others.
TEST(PowerSgd, AMatrixOfALowRankComesBackInItsOwnShape) {
  Random random(40);
  for (const std::size_t columns : {9U, 16U, 147U, 2000U}) {
    for (const auto& [lead, missing] : {std::pair(0U, 0U), {3U, 0U}, {0U, 4U}, {8U, 1U}}) {
      const MatrixShape shape = MatrixShape::of(192 * columns - lead - missing, columns, 4, lead);
      const std::size_t rank = lead + missing == 0 ? 4 : 2;  // and one of each short row
      std::vector<RankOfJob> job = {rank_with(matrix_of_rank(rank, shape, random), shape)};
      reduce(job);
      EXPECT_TRUE(job[0].is_finite);
      EXPECT_LT(relative_error(job[0].in, job[0].out), 1e-4) << columns << ", " << lead;
    }
  }
}

TEST(PowerSgd, WhatIsBesideAMatrixStaysAsItIs) {
  Random random(41);
  const MatrixShape shape = MatrixShape::of(700, 32, 2, 5);
  std::vector<RankOfJob> job = {rank_with(random_floats(720, random), shape)};
  const Floats in = job[0].in;
  job[0].out = in;
  reduce(job);
  for (std::size_t i = 700; i < 720; ++i) {
    EXPECT_EQ(job[0].out[i], in[i]);
    EXPECT_EQ(job[0].residual[i], 0);
  }
}

// A last row that is short is one more of its own.
TEST(PowerSgd, AMatrixOfALowRankComesBack) {
  Random random(31);
  for (const std::size_t count : {1U, 2U, 16U, 17U, 256U, 1000U, 4096U}) {
    for (const std::size_t rank : {1U, 2U, 3U}) {
      std::vector<RankOfJob> job = {rank_with(matrix_of_rank(rank, count, random), 4)};
      reduce(job);
      EXPECT_TRUE(job[0].is_finite);
      EXPECT_LT(relative_error(job[0].in, job[0].out), 1e-4) << rank << " of " << count;
      EXPECT_LT(length_of(job[0].residual), 1e-4 * length_of(job[0].in));
    }
  }
}

TEST(PowerSgd, AllRanksGetTheSameAndWhatIsLostIsInTheirResiduals) {
  Random random(32);
  constexpr std::size_t kCount = 3001;
  std::vector<RankOfJob> job;
  for (int rank = 0; rank < 3; ++rank) job.push_back(rank_with(random_floats(kCount, random), 4));
  Floats owed(kCount);
  for (int step = 0; step < 5; ++step) {
    for (const RankOfJob& rank : job) {
      for (std::size_t i = 0; i < kCount; ++i) owed[i] += rank.in[i];
    }
    reduce(job);
    EXPECT_EQ(job[0].out, job[1].out);
    EXPECT_EQ(job[0].out, job[2].out);
    for (std::size_t i = 0; i < kCount; ++i) {
      owed[i] -= job[0].out[i];
      ASSERT_NEAR(owed[i], job[0].residual[i] + job[1].residual[i] + job[2].residual[i], 1e-4);
    }
  }
}

// The best approximation of rank 2 loses the third of three parts that share no direction.
TEST(PowerSgd, FindsTheLargestPartsWhereTheMatrixStaysTheSame) {
  constexpr std::size_t kSide = 64;
  Random random(33);
  Floats left = random_floats(3 * kSide, random), right = random_floats(3 * kSide, random);
  ASSERT_EQ(make_orthonormal(left, kSide), 3U);
  ASSERT_EQ(make_orthonormal(right, kSide), 3U);
  Floats in(kSide * kSide);
  for (std::size_t i = 0; i < in.size(); ++i) {
    for (std::size_t k = 0; k < 3; ++k)
      in[i] +=
          static_cast<float>(4 >> k) * left[k * kSide + i / kSide] * right[k * kSide + i % kSide];
  }
  std::vector<RankOfJob> job = {rank_with(in, 2)};
  for (int step = 0; step < 12; ++step) {
    job[0].residual.assign(in.size(), 0);
    reduce(job);
  }
  EXPECT_NEAR(relative_error(in, job[0].out), 1 / std::sqrt(21.0), 1e-4);
}

TEST(PowerSgd, WhatIsLostComesLater) {
  Random random(34);
  constexpr std::size_t kCount = 1024;
  constexpr int kSteps = 400;
  std::vector<RankOfJob> job = {rank_with(random_floats(kCount, random), 2)};
  std::vector<double> sent(kCount);
  double longest = 0;
  for (int step = 0; step < kSteps; ++step) {
    reduce(job);
    for (std::size_t i = 0; i < kCount; ++i) sent[i] += double{job[0].out[i]};
    longest = std::max(longest, length_of(job[0].residual));
  }
  for (std::size_t i = 0; i < kCount; ++i)
    ASSERT_NEAR(sent[i] + double{job[0].residual[i]}, kSteps * double{job[0].in[i]}, 0.05);
  EXPECT_LT(longest, 40 * length_of(job[0].in)) << "of 400";
}

TEST(PowerSgd, WhatIsNotFiniteIsSaidOnAllRanksAndForgotten) {
  Random random(35);
  const Floats in = random_floats(500, random);
  std::vector<RankOfJob> job = {rank_with(in, 3), rank_with(in, 3)};
  reduce(job);
  const Floats first = job[0].out, kept = job[0].residual;
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 1e38F}) {
    job[1].in[499] = bad;
    reduce(job);
    for (const RankOfJob& rank : job) {
      EXPECT_FALSE(rank.is_finite) << bad;
      EXPECT_EQ(rank.residual, kept) << bad;
      for (const float one : rank.out) ASSERT_TRUE(std::isnan(one)) << bad;
    }
  }
  job[1].in = in;
  for (RankOfJob& rank : job) rank.residual.assign(in.size(), 0);
  reduce(job);
  EXPECT_TRUE(job[0].is_finite);
  EXPECT_EQ(job[0].out, first);
}

TEST(PowerSgd, ColumnsThatComeToNothingAreDrawnAnew) {
  Random random(36);
  std::vector<RankOfJob> job = {rank_with(Floats(512, 0.0F), 4)};
  reduce(job);
  EXPECT_EQ(job[0].out, Floats(512, 0.0F));
  for (const std::size_t rank : {1U, 3U, 4U}) {
    job[0].in = matrix_of_rank(rank, 512, random);
    job[0].residual.assign(512, 0);
    reduce(job);
    EXPECT_LT(relative_error(job[0].in, job[0].out), 1e-4) << rank;
  }
}

TEST(PowerSgd, SizesMakeNoDifference) {
  Random random(37);
  const Floats in = matrix_of_rank(2, 1024, random);
  for (const float size : {1e-30F, 1e-12F, 1e12F, 1e30F}) {
    Floats scaled = in;
    for (float& one : scaled) one *= size;
    std::vector<RankOfJob> job = {rank_with(scaled, 2)};
    for (int step = 0; step < 3; ++step) {
      job[0].residual.assign(in.size(), 0);
      reduce(job);
      EXPECT_TRUE(job[0].is_finite);
      EXPECT_LT(relative_error(scaled, job[0].out), 1e-4) << size;
    }
  }
}

TEST(PowerSgd, GoesOnFromABasisThatWasSaved) {
  Random random(38);
  std::vector<RankOfJob> job = {rank_with(random_floats(700, random), 2)};
  reduce(job);
  std::vector<RankOfJob> other = {rank_with(job[0].in, 2)};
  other[0].seed = 99;
  other[0].basis = job[0].basis;
  other[0].residual = job[0].residual;
  reduce(job), reduce(other);
  EXPECT_EQ(job[0].out, other[0].out);
}

TEST(PowerSgd, NoElementsAreNoMatrix) {
  PowerSgd codec(MatrixShape(), {}, 1);
  codec.project(nullptr, nullptr, {});
  codec.back_project(nullptr, nullptr, nullptr, {}, {});
  EXPECT_TRUE(codec.expand({}, {}, nullptr));
}

TEST(MakeOrthonormal, ColumnsHaveLengthOneAndStandUpright) {
  Random random(39);
  constexpr std::size_t kLength = 333, kColumns = 5;
  Floats columns = random_floats(kLength * kColumns, random);
  for (std::size_t i = 0; i < kLength; ++i) columns[i] *= 1e-30F;
  ASSERT_EQ(make_orthonormal(columns, kLength), kColumns);
  for (std::size_t a = 0; a < kColumns; ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      double product = 0;
      for (std::size_t i = 0; i < kLength; ++i)
        product += double{columns[a * kLength + i]} * double{columns[b * kLength + i]};
      EXPECT_NEAR(product, a == b ? 1 : 0, 1e-6);
    }
  }
}

TEST(MakeOrthonormal, WhatIsASumOfOthersOrNotFiniteBecomesZeros) {
  Floats columns = {
      1, 2, 3, 0, 0, 0, 2, 4, 6, 0, 1, 0, 1, 3, 3, 1, std::numeric_limits<float>::infinity(), 1};
  EXPECT_EQ(make_orthonormal(columns, 3), 2U);
  for (const std::size_t at : {3U, 6U, 12U, 15U}) {
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(columns[at + i], 0) << at;
  }
  EXPECT_EQ(make_orthonormal({}, 3), 0U);
}

}  // namespace
}  // namespace paceline
