// What tests do less of under the address sanitizer, which makes up to ten seconds of one.
#pragma once

#include <algorithm>

namespace paceline::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// Of so many schedules of a simulation: they are searched in builds without it, which sees in some
/// of them what every one of them touches. Never fewer than five, if there are: what real threads
/// repeat is repeated. (The thread sanitizer runs no simulations.)
template <typename T>
constexpr T samples(T count) {
#ifdef __SANITIZE_ADDRESS__
  return std::max<T>(count / 5, std::min<T>(count, 5));
#else
  return count;
#endif
}

}  // namespace paceline::testing
