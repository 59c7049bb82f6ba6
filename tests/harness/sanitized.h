// What tests do less of under a sanitizer, which makes up to ten seconds of one.
#pragma once

namespace paceline::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

/// Of so many samples of what runs the same code: schedules are searched without a sanitizer, which
/// sees in a few of them what every one of them touches.
template <typename T>
constexpr T samples(T count) {
  constexpr T kOneOf = 5;
  return kIsSanitized ? (count + kOneOf - 1) / kOneOf : count;
}

}  // namespace paceline::testing
