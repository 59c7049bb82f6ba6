// What codecs do with what earlier steps have lost: a residual, null where nothing is kept.
#pragma once

#include <algorithm>
#include <cstddef>

namespace paceline {

/// What is encoded: an element, and what was lost of earlier ones where that was kept.
inline float with_residual(const float* in, const float* residual, std::size_t i) {
  return residual == nullptr ? in[i] : in[i] + residual[i];
}

/// Elements from `first` on of an array that may be absent.
template <class Element>
Element* from(Element* all, std::size_t first) {
  return all == nullptr ? nullptr : all + first;
}

/// What was not encoded loses nothing: `lost`, which may be `residual`, gets what that has. Both
/// may be absent.
inline void keep_residual(const float* residual, float* lost, std::size_t count) {
  if (residual != nullptr && lost != residual) std::copy_n(residual, count, lost);
}

}  // namespace paceline
