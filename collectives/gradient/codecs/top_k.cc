#include "collectives/gradient/codecs/top_k.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "collectives/gradient/codecs/magnitudes.h"
#include "collectives/gradient/codecs/with_residual.h"
#include "comm/base/random.h"

namespace paceline {
namespace {

constexpr std::size_t kEntryBytes = sizeof(std::uint32_t) + sizeof(float);
constexpr std::size_t kDrawn = 16384;

// A magnitude that somewhat more than k elements exceed: of what is drawn as many do as would by
// chance, and four standard deviations more.
std::uint32_t guess(const float* in, const float* residual, std::size_t count, std::size_t k) {
  Random random(count);
  std::vector<std::uint32_t> drawn(kDrawn);
  for (std::uint32_t& one : drawn)
    one = magnitude_of(with_residual(in, residual, random.below(count)));
  const double expected =
      static_cast<double>(kDrawn) * static_cast<double>(k) / static_cast<double>(count);
  const auto larger = static_cast<std::size_t>(expected + 4 * std::sqrt(expected) + 8);
  if (larger >= kDrawn) return 0;
  const auto at = drawn.begin() + static_cast<std::ptrdiff_t>(larger);
  std::ranges::nth_element(drawn, at, std::greater());
  return *at;
}

void put_entry(std::byte* out, std::size_t k, std::size_t at, std::uint32_t place, float value) {
  std::memcpy(out + at * sizeof(place), &place, sizeof(place));
  std::memcpy(out + k * sizeof(place) + at * sizeof(value), &value, sizeof(value));
}

}  // namespace

std::size_t TopK::entries(std::size_t count, double share) {
  const auto wanted = static_cast<std::size_t>(std::llround(static_cast<double>(count) * share));
  return std::min(std::max<std::size_t>(wanted, 1), count);
}

std::size_t TopK::encoded_bytes(std::size_t entries) { return entries * kEntryBytes; }

bool TopK::encode(const float* in, const float* residual, float* lost, std::size_t count,
                  std::size_t k, std::byte* out) {
  if (count == 0) return true;
  const std::uint32_t guessed = count > 4 * kDrawn ? guess(in, residual, count, k) : 0;
  const auto [largest, above, equal] = magnitude_passes().survey(in, residual, count, guessed);
  if (largest >= kInfiniteMagnitude) {
    for (std::uint32_t i = 0; i < k; ++i)
      put_entry(out, k, i, i, std::numeric_limits<float>::quiet_NaN());
    keep_residual(residual, lost, count);
    return false;
  }
  chosen_.resize(k);
  if (above < k && k <= above + equal) {
    const MagnitudeCut cut = {.least = guessed, .equals = k - above};
    magnitude_passes().collect(in, residual, lost, count, cut, chosen_.data());
  } else if (k <= above && above <= std::max(4 * k, count / 16)) {
    choose_of_larger(in, residual, lost, count, k, guessed, above);
  } else {
    choose_exactly(in, residual, lost, count, k);
  }
  const float* const values = lost == nullptr ? in : lost;
  for (std::size_t i = 0; i < k; ++i) put_entry(out, k, i, chosen_[i], values[chosen_[i]]);
  for (std::size_t i = 0; lost != nullptr && i < k; ++i) lost[chosen_[i]] = 0;
  return true;
}

void TopK::choose_exactly(const float* in, const float* residual, float* lost, std::size_t count,
                          std::size_t k) {
  const MagnitudeCut cut = cut_after(in, residual, count, k);
  magnitude_passes().collect(in, residual, lost, count, cut, chosen_.data());
}

void TopK::choose_of_larger(const float* in, const float* residual, float* lost, std::size_t count,
                            std::size_t k, std::uint32_t magnitude, std::size_t larger) {
  candidates_.resize(larger);
  values_.resize(larger);
  const MagnitudeCut all_larger = {.least = magnitude, .equals = 0};
  magnitude_passes().collect(in, residual, lost, count, all_larger, candidates_.data());
  const float* const values = lost == nullptr ? in : lost;
  for (std::size_t i = 0; i < larger; ++i) values_[i] = values[candidates_[i]];
  choose_exactly(values_.data(), nullptr, nullptr, larger, k);
  for (std::uint32_t& place : chosen_) place = candidates_[place];
}

bool add_top_k(std::span<const std::byte> in, std::size_t count, float* out) {
  if (in.size() % kEntryBytes != 0) return false;
  const std::size_t k = in.size() / kEntryBytes;
  const auto place_of = [&](std::size_t i) {
    std::uint32_t place = 0;
    std::memcpy(&place, in.data() + i * sizeof(place), sizeof(place));
    return place;
  };
  for (std::size_t i = 0; i < k; ++i) {
    if (place_of(i) >= count || (i > 0 && place_of(i) <= place_of(i - 1))) return false;
  }
  const std::byte* const values = in.data() + k * sizeof(std::uint32_t);
  for (std::size_t i = 0; i < k; ++i) {
    float value = 0;
    std::memcpy(&value, values + i * sizeof(value), sizeof(value));
    out[place_of(i)] += value;
  }
  return true;
}

}  // namespace paceline
