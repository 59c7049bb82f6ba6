// The passes of top-k over a whole bucket: count the elements that exceed a magnitude, and find
// them.
//
// A magnitude is a float's bits without its sign: magnitudes are ordered as the numbers are, and
// those that are not finite come last.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace paceline {

inline constexpr std::uint32_t kInfiniteMagnitude = 0x7F800000;

inline std::uint32_t magnitude_of(float value) {
  return std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFFU;
}

/// What is taken: all that are larger than `least`, and the first `equals` of those that equal it.
struct MagnitudeCut {
  std::uint32_t least = 0;
  std::size_t equals = 0;

  bool operator==(const MagnitudeCut&) const = default;
};

struct MagnitudeSurvey {
  std::uint32_t largest = 0;
  std::size_t above = 0, equal = 0;  ///< how many are larger than what was asked for, or equal it

  bool operator==(const MagnitudeSurvey&) const = default;
};

/// Of in[i], or of in[i] + residual[i] where there is a residual. count < 2^32.
struct MagnitudePasses {
  MagnitudeSurvey (*survey)(const float* in, const float* residual, std::size_t count,
                            std::uint32_t least) = nullptr;
  /// Writes the places of the elements that the cut takes, ascending. `lost`, unless null, gets
  /// in[i] + residual[i]; it may be equal to `residual`.
  void (*collect)(const float* in, const float* residual, float* lost, std::size_t count,
                  MagnitudeCut cut, std::uint32_t* places) = nullptr;
};

/// By the fastest vectors that this processor has.
const MagnitudePasses& magnitude_passes();
/// Loops over single elements.
const MagnitudePasses& plain_magnitude_passes();

/// By which exactly k are taken, 0 < k <= count: found digit by digit, in three passes over single
/// elements however these are distributed.
MagnitudeCut cut_after(const float* in, const float* residual, std::size_t count, std::size_t k);

}  // namespace paceline
