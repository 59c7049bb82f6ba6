#include "collectives/gradient/codecs/power_sgd.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "collectives/gradient/codecs/orthonormal.h"
#include "collectives/gradient/codecs/with_residual.h"
#include "comm/base/random.h"

namespace paceline {
namespace {

// Partial sums of a dot product, which a compiler can keep in vectors.
constexpr std::size_t kSums = 16;
// What is larger is taken for overflow: sums of a few still are finite.
constexpr float kMost = 0x1p120F;

bool fits(std::span<const float> values) {
  // A comparison with what is no number is false.
  return std::ranges::all_of(values, [](float value) { return std::abs(value) <= kMost; });
}

float dot(const float* a, const float* b, std::size_t count) {
  float sums[kSums] = {};
  std::size_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (std::size_t k = 0; k < kSums; ++k) sums[k] += a[i + k] * b[i + k];
  }
  for (std::size_t k = 0; i + k < count; ++k) sums[k] += a[i + k] * b[i + k];
  for (std::size_t width = kSums / 2; width > 0; width /= 2) {
    for (std::size_t k = 0; k < width; ++k) sums[k] += sums[k + width];
  }
  return sums[0];
}

void add_multiple(float* to, const float* from, float factor, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] += from[i] * factor;
}

}  // namespace

std::size_t MatrixShape::square_columns(std::size_t count) {
  const auto side = static_cast<std::size_t>(std::sqrt(static_cast<double>(count)));
  return (std::max<std::size_t>(side, 1) + kSums - 1) / kSums * kSums;
}

MatrixShape MatrixShape::of(std::size_t count, std::size_t columns, std::size_t most_rank,
                            std::size_t lead) {
  if (count == 0) return {};
  MatrixShape shape{.count = count, .columns = columns, .lead = lead};
  shape.rank = std::min({most_rank, shape.rows(), columns});
  return shape;
}

// Of length one, so that sizes neither grow nor shrink from step to step. A column that has come to
// nothing would remain so.
void complete_basis(std::span<float> columns, std::size_t length, std::uint64_t seed) {
  if (make_orthonormal(columns, length) * length == columns.size()) return;
  for (std::size_t k = 0; k * length < columns.size(); ++k) {
    const std::span<float> column = columns.subspan(k * length, length);
    if (std::ranges::any_of(column, [](float one) { return one != 0; })) continue;
    Random random(seed + k);
    for (float& one : column) one = static_cast<float>(2 * random.unit() - 1);
  }
  make_orthonormal(columns, length);
}

PowerSgd::PowerSgd(const MatrixShape& shape, std::span<float> basis, std::uint64_t seed)
    : shape_(shape), rows_(shape.rows()), basis_(basis), seed_(seed), row_(shape.columns) {}

void PowerSgd::project(const float* in, const float* residual, std::span<float> p) {
  for (std::size_t row = 0; row < rows_; ++row) {
    load(in, residual, row);
    for (std::size_t k = 0; k < shape_.rank; ++k)
      p[k * rows_ + row] = dot(row_.data(), &basis_[k * shape_.columns], shape_.columns);
  }
}

void PowerSgd::back_project(const float* in, const float* residual, float* lost, std::span<float> p,
                            std::span<float> q) {
  if (!fits(p)) {
    std::ranges::fill(q, std::numeric_limits<float>::quiet_NaN());
    keep_residual(residual, lost, shape_.count);
    return;
  }
  make_orthonormal(p, rows_);
  std::ranges::fill(q, 0.0F);
  for (std::size_t row = 0; row < rows_; ++row) {
    load(in, residual, row);
    for (std::size_t k = 0; k < shape_.rank; ++k)
      add_multiple(&q[k * shape_.columns], row_.data(), p[k * rows_ + row], shape_.columns);
  }
  if (lost == nullptr) return;
  if (!fits(q)) return keep_residual(residual, lost, shape_.count);
  for (std::size_t row = 0; row < rows_; ++row) {
    load(in, residual, row);
    for (std::size_t k = 0; k < shape_.rank; ++k)
      add_multiple(row_.data(), &q[k * shape_.columns], -p[k * rows_ + row], shape_.columns);
    store(row_.data(), lost, row);
  }
}

bool PowerSgd::expand(std::span<const float> p, std::span<const float> q, float* out) {
  if (!fits(p) || !fits(q)) {
    std::fill_n(out, shape_.count, std::numeric_limits<float>::quiet_NaN());
    std::ranges::fill(basis_, 0.0F);
    complete_basis(basis_, shape_.columns, seed_);
    return false;
  }
  for (std::size_t row = 0; row < rows_; ++row) {
    std::ranges::fill(row_, 0.0F);
    for (std::size_t k = 0; k < shape_.rank; ++k)
      add_multiple(row_.data(), &q[k * shape_.columns], p[k * rows_ + row], shape_.columns);
    store(row_.data(), out, row);
  }
  std::ranges::copy(q, basis_.begin());
  complete_basis(basis_, shape_.columns, seed_);
  return true;
}

PowerSgd::Stretch PowerSgd::stretch_of(std::size_t row) const {
  const std::size_t column = row == 0 ? shape_.lead : 0;
  const std::size_t first = row * shape_.columns + column - shape_.lead;
  return {.first = first,
          .column = column,
          .length = std::min(shape_.columns - column, shape_.count - first)};
}

void PowerSgd::load(const float* in, const float* residual, std::size_t row) {
  const auto [first, column, length] = stretch_of(row);
  float* const to = row_.data() + column;
  if (residual == nullptr) {
    std::copy_n(in + first, length, to);
  } else {
    for (std::size_t i = 0; i < length; ++i) to[i] = in[first + i] + residual[first + i];
  }
  std::fill(row_.data(), to, 0.0F);
  std::fill(to + length, row_.data() + shape_.columns, 0.0F);
}

void PowerSgd::store(const float* from, float* to, std::size_t row) const {
  const auto [first, column, length] = stretch_of(row);
  std::copy_n(from + column, length, to + first);
}

}  // namespace paceline
