// Reduces what tests repeat under a sanitizer, which makes them up to ten times as slow.
#pragma once

#include <algorithm>

namespace paceline::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// The number of schedules of a simulation to try, out of `count`: all, or a fifth under the
/// address sanitizer, but at least five if there are as many. Builds without it search all
/// schedules, and all of them run the same code. The thread sanitizer leaves out the cases
/// `simulation`.
template <typename T>
constexpr T samples(T count) {
#ifdef __SANITIZE_ADDRESS__
  return std::max<T>(count / 5, std::min<T>(count, 5));
#else
  return count;
#endif
}

}  // namespace paceline::testing
