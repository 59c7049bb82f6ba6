#pragma once

#include <cstddef>

namespace paceline {

/// What is encoded: an element, and what was lost of earlier ones where that was kept.
inline float with_residual(const float* in, const float* residual, std::size_t i) {
  return residual == nullptr ? in[i] : in[i] + residual[i];
}

}  // namespace paceline
