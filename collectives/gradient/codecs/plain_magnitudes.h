// The passes of magnitudes.h as loops over elements from `first` on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "collectives/gradient/codecs/magnitudes.h"
#include "collectives/gradient/codecs/with_residual.h"

namespace paceline {

/// Adds to `survey`.
inline void plain_survey(const float* in, const float* residual, std::size_t first,
                         std::size_t count, std::uint32_t least, MagnitudeSurvey& survey) {
  for (std::size_t i = first; i < count; ++i) {
    const std::uint32_t magnitude = magnitude_of(with_residual(in, residual, i));
    survey.largest = std::max(survey.largest, magnitude);
    survey.above += magnitude > least ? 1 : 0;
    survey.equal += magnitude == least ? 1 : 0;
  }
}

/// Takes away from `cut` what it finds.
inline void plain_collect(const float* in, const float* residual, float* lost, std::size_t first,
                          std::size_t count, MagnitudeCut& cut, std::uint32_t* places) {
  for (std::size_t i = first; i < count; ++i) {
    const float value = with_residual(in, residual, i);
    if (lost != nullptr) lost[i] = value;
    const std::uint32_t magnitude = magnitude_of(value);
    const bool is_equal = magnitude == cut.least && cut.equals > 0;
    if (is_equal) --cut.equals;
    if (is_equal || magnitude > cut.least) *places++ = static_cast<std::uint32_t>(i);
  }
}

}  // namespace paceline
