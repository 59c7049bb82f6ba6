#include "launcher/tools/measure/probe/loop/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace paceline::probe {
namespace {

struct Sample {
  std::int64_t begin;
  std::int64_t end;
};

}  // namespace

double quantile(std::span<const double> values, double fraction) {
  if (values.empty()) return 0;
  std::vector<double> sorted(values.begin(), values.end());
  const double place = std::ceil(fraction * static_cast<double>(sorted.size())) - 1;
  const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(std::max(place, 0.0));
  std::nth_element(sorted.begin(), at, sorted.end());
  return *at;
}

std::vector<double> operation_times(std::span<const std::int64_t> moments, int ranks,
                                    bool one_clock) {
  const std::size_t samples = moments.size() / 2 / static_cast<std::size_t>(ranks);
  std::vector<double> times(samples);
  for (std::size_t sample = 0; sample < samples; ++sample) {
    const auto of = [&](std::size_t rank) {
      const std::size_t at = 2 * (rank * samples + sample);
      return Sample{moments[at], moments[at + 1]};
    };
    Sample all = of(0);
    std::int64_t longest = all.end - all.begin;
    for (std::size_t rank = 1; rank < static_cast<std::size_t>(ranks); ++rank) {
      const Sample own = of(rank);
      all = {std::min(all.begin, own.begin), std::max(all.end, own.end)};
      longest = std::max(longest, own.end - own.begin);
    }
    times[sample] = static_cast<double>(one_clock ? all.end - all.begin : longest);
  }
  return times;
}

}  // namespace paceline::probe
