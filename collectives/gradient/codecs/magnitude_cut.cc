// Where k elements end, and the passes as loops over single elements.

#include <array>
#include <cstddef>
#include <cstdint>

#include "collectives/gradient/codecs/magnitudes.h"
#include "collectives/gradient/codecs/plain_magnitudes.h"
#include "collectives/gradient/codecs/with_residual.h"

namespace paceline {
namespace {

// The 31 bits of a magnitude, from the upper ones on.
struct Digit {
  int shift = 0, bits = 0;
};
constexpr Digit kDigits[] = {{20, 11}, {10, 10}, {0, 10}};
using DigitCounts = std::array<std::uint32_t, 1U << 11>;

// Of those that begin as `prefix` does: how many have which digit next. `prefix` has zeros from
// that digit on, so that all others differ from it by more than a digit can.
DigitCounts digits_of(const float* in, const float* residual, std::size_t count,
                      std::uint32_t prefix, Digit next) {
  DigitCounts counts{};
  const std::uint32_t end = 1U << next.bits;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t magnitude = magnitude_of(with_residual(in, residual, i));
    const std::uint32_t digit = (magnitude ^ prefix) >> next.shift;
    if (digit < end) ++counts[digit];
  }
  return counts;
}

}  // namespace

MagnitudeCut cut_after(const float* in, const float* residual, std::size_t count, std::size_t k) {
  MagnitudeCut cut = {.least = 0, .equals = k};
  for (const Digit next : kDigits) {
    const DigitCounts counts = digits_of(in, residual, count, cut.least, next);
    std::size_t digit = counts.size() - 1;
    for (; digit > 0 && counts[digit] < cut.equals; --digit) cut.equals -= counts[digit];
    cut.least |= static_cast<std::uint32_t>(digit) << next.shift;
  }
  return cut;
}

const MagnitudePasses& plain_magnitude_passes() {
  static constexpr MagnitudePasses kPasses = {
      .survey =
          [](const float* in, const float* residual, std::size_t count, std::uint32_t least) {
            MagnitudeSurvey survey;
            plain_survey(in, residual, 0, count, least, survey);
            return survey;
          },
      .collect =
          [](const float* in, const float* residual, float* lost, std::size_t count,
             MagnitudeCut cut,
             std::uint32_t* places) { plain_collect(in, residual, lost, 0, count, cut, places); }};
  return kPasses;
}

}  // namespace paceline
