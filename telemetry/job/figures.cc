#include "telemetry/job/figures.h"

namespace paceline {
namespace {

struct ClockLimit {
  std::uint64_t bits;
  std::string_view words;
};
// Bit 0x1 says that the GPU is idle. The last row has all bits that this version does not know.
constexpr ClockLimit kClockLimits[] = {
    {0x2 | 0x100, "a setting"}, {0x4 | 0x80, "power"}, {0x20 | 0x40, "heat"},
    {0x8, "hardware slowdown"}, {0x10, "another GPU"}, {~std::uint64_t{0x1ff}, "other"},
};

}  // namespace

std::vector<std::string_view> clock_limit_words(double limits) {
  std::vector<std::string_view> words;
  if (!(limits >= 0 && limits <= kMostExact)) return words;
  const auto bits = static_cast<std::uint64_t>(limits);
  for (const ClockLimit& one : kClockLimits)
    if ((bits & one.bits) != 0) words.push_back(one.words);
  return words;
}

}  // namespace paceline
