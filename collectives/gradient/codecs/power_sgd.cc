#include "collectives/gradient/codecs/power_sgd.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "collectives/gradient/codecs/orthonormal.h"
#include "collectives/gradient/codecs/with_residual.h"
#include "comm/base/random.h"

namespace paceline {
namespace {

// Partial sums of a dot product, which a compiler can keep in vectors; columns are a multiple.
constexpr std::size_t kSums = 16;
// What is larger is taken for overflow: sums of a few still are finite.
constexpr float kMost = 0x1p120F;

bool fits(std::span<const float> values) {
  // A comparison with what is no number is false.
  return std::ranges::all_of(values, [](float value) { return std::abs(value) <= kMost; });
}

// Of a multiple of kSums.
float dot(const float* a, const float* b, std::size_t count) {
  float sums[kSums] = {};
  for (std::size_t i = 0; i < count; i += kSums) {
    for (std::size_t k = 0; k < kSums; ++k) sums[k] += a[i + k] * b[i + k];
  }
  for (std::size_t width = kSums / 2; width > 0; width /= 2) {
    for (std::size_t k = 0; k < width; ++k) sums[k] += sums[k + width];
  }
  return sums[0];
}

void add_multiple(float* to, const float* from, float factor, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] += from[i] * factor;
}

}  // namespace

MatrixShape MatrixShape::of(std::size_t count, std::size_t rank) {
  if (count == 0) return {};
  auto columns = static_cast<std::size_t>(std::sqrt(static_cast<double>(count)));
  columns = (std::max<std::size_t>(columns, 1) + kSums - 1) / kSums * kSums;
  const std::size_t rows = (count + columns - 1) / columns;
  return {.rows = rows, .columns = columns, .rank = std::min({rank, rows, columns})};
}

PowerSgd::PowerSgd(std::size_t count, std::size_t rank, std::uint64_t seed)
    : count_(count),
      seed_(seed),
      shape_(MatrixShape::of(count, rank)),
      p_(shape_.rows * shape_.rank),
      q_(shape_.columns * shape_.rank),
      basis_(q_.size()),
      row_(shape_.columns) {
  begin_anew();
}

std::span<float> PowerSgd::project(const float* in, const float* residual) {
  for (std::size_t row = 0; row < shape_.rows; ++row) {
    load_row(in, residual, row);
    for (std::size_t k = 0; k < shape_.rank; ++k)
      p_[k * shape_.rows + row] = dot(row_.data(), &basis_[k * shape_.columns], shape_.columns);
  }
  return p_;
}

std::span<float> PowerSgd::back_project(const float* in, float* residual) {
  if (!fits(p_)) {
    std::ranges::fill(q_, std::numeric_limits<float>::quiet_NaN());
    return q_;
  }
  make_orthonormal(p_, shape_.rows);
  std::ranges::fill(q_, 0.0F);
  for (std::size_t row = 0; row < shape_.rows; ++row) {
    load_row(in, residual, row);
    for (std::size_t k = 0; k < shape_.rank; ++k)
      add_multiple(&q_[k * shape_.columns], row_.data(), p_[k * shape_.rows + row], shape_.columns);
  }
  if (residual == nullptr || !fits(q_)) return q_;
  for (std::size_t row = 0; row < shape_.rows; ++row) {
    load_row(in, residual, row);
    for (std::size_t k = 0; k < shape_.rank; ++k)
      add_multiple(row_.data(), &q_[k * shape_.columns], -p_[k * shape_.rows + row],
                   shape_.columns);
    const std::size_t first = row * shape_.columns;
    std::copy_n(row_.begin(), std::min(shape_.columns, count_ - first), residual + first);
  }
  return q_;
}

bool PowerSgd::expand(float* out) {
  if (!fits(p_) || !fits(q_)) {
    std::fill_n(out, count_, std::numeric_limits<float>::quiet_NaN());
    begin_anew();
    return false;
  }
  for (std::size_t row = 0; row < shape_.rows; ++row) {
    std::ranges::fill(row_, 0.0F);
    for (std::size_t k = 0; k < shape_.rank; ++k)
      add_multiple(row_.data(), &q_[k * shape_.columns], p_[k * shape_.rows + row], shape_.columns);
    const std::size_t first = row * shape_.columns;
    std::copy_n(row_.begin(), std::min(shape_.columns, count_ - first), out + first);
  }
  std::ranges::copy(q_, basis_.begin());
  keep_basis();
  return true;
}

bool PowerSgd::set_basis(std::span<const float> basis) {
  if (basis.size() != basis_.size() || !fits(basis)) return false;
  std::ranges::copy(basis, basis_.begin());
  return true;
}

void PowerSgd::load_row(const float* in, const float* residual, std::size_t row) {
  const std::size_t first = row * shape_.columns;
  const std::size_t length = std::min(shape_.columns, count_ - first);
  if (residual == nullptr) {
    std::copy_n(in + first, length, row_.begin());
  } else {
    for (std::size_t i = 0; i < length; ++i) row_[i] = in[first + i] + residual[first + i];
  }
  std::fill(row_.begin() + static_cast<std::ptrdiff_t>(length), row_.end(), 0.0F);
}

void PowerSgd::begin_anew() {
  std::ranges::fill(basis_, 0.0F);
  keep_basis();
}

// Of length one, so that sizes neither grow nor shrink from step to step. A column that has come to
// nothing would remain so: it is drawn, as the first ones are.
void PowerSgd::keep_basis() {
  const std::size_t length = shape_.columns;
  if (make_orthonormal(basis_, length) == shape_.rank) return;
  for (std::size_t k = 0; k < shape_.rank; ++k) {
    const std::span<float> column = std::span(basis_).subspan(k * length, length);
    if (std::ranges::any_of(column, [](float one) { return one != 0; })) continue;
    Random random(seed_ + k);
    for (float& one : column) one = static_cast<float>(2 * random.unit() - 1);
  }
  make_orthonormal(basis_, length);
}

}  // namespace paceline
