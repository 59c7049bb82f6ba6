// The residual, the error that codecs keep from earlier steps. It is null if nothing is kept.
#pragma once

#include <algorithm>
#include <cstddef>

namespace paceline {

/// The value to encode: an element plus its residual, if there is one.
inline float with_residual(const float* in, const float* residual, std::size_t i) {
  return residual == nullptr ? in[i] : in[i] + residual[i];
}

/// Elements from `first` on of an array that may be absent.
template <class Element>
Element* from(Element* all, std::size_t first) {
  return all == nullptr ? nullptr : all + first;
}

/// For elements that are not encoded: copies `residual` to `lost`. They may be the same array, and
/// both may be null.
inline void keep_residual(const float* residual, float* lost, std::size_t count) {
  if (residual != nullptr && lost != residual) std::copy_n(residual, count, lost);
}

}  // namespace paceline
