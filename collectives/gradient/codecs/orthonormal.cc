#include "collectives/gradient/codecs/orthonormal.h"

#include <algorithm>
#include <cmath>

namespace paceline {
namespace {

// What is left of a float32 column behind the others is no more than its roundings.
constexpr double kLeastLeft = 1e-5;

// Partial sums that a compiler can keep in a vector; in an order that no processor changes.
double dot(std::span<const float> a, std::span<const float> b) {
  constexpr std::size_t kSums = 8;
  double sums[kSums] = {};
  std::size_t i = 0;
  for (; i + kSums <= a.size(); i += kSums) {
    for (std::size_t k = 0; k < kSums; ++k) sums[k] += double{a[i + k]} * double{b[i + k]};
  }
  double all = 0;
  for (; i < a.size(); ++i) all += double{a[i]} * double{b[i]};
  for (const double sum : sums) all += sum;
  return all;
}

// Takes away what is along `other`, which has length one or is zeros.
void take_away(std::span<float> column, std::span<const float> other) {
  const double along = dot(column, other);
  for (std::size_t i = 0; i < column.size(); ++i)
    column[i] = static_cast<float>(double{column[i]} - along * double{other[i]});
}

void scale(std::span<float> column, double factor) {
  for (float& one : column) one = static_cast<float>(double{one} * factor);
}

// False where nothing is left.
bool give_length_one(std::span<float> column, double least_length) {
  const double length = std::sqrt(dot(column, column));
  if (!(length > least_length) || !std::isfinite(length)) return false;
  scale(column, 1 / length);
  return true;
}

bool stand_upright(std::span<float> columns, std::size_t length, std::size_t at) {
  const std::span<float> column = columns.subspan(at * length, length);
  if (!give_length_one(column, 0)) return false;
  for (int time = 0; time < 2; ++time) {
    for (std::size_t k = 0; k < at; ++k) take_away(column, columns.subspan(k * length, length));
    if (!give_length_one(column, kLeastLeft)) return false;
  }
  return true;
}

}  // namespace

std::size_t make_orthonormal(std::span<float> columns, std::size_t length) {
  std::size_t kept = 0;
  for (std::size_t at = 0; at * length < columns.size(); ++at) {
    if (stand_upright(columns, length, at)) {
      ++kept;
    } else {
      std::ranges::fill(columns.subspan(at * length, length), 0.0F);
    }
  }
  return kept;
}

}  // namespace paceline
