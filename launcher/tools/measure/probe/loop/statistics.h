// From what ranks have measured to what is printed. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace paceline::probe {

/// The value below which `fraction` of the values lie (nearest rank); 0 where there are none.
double quantile(std::span<const double> values, double fraction);

/// Begin and end of each sample, rank after rank, as begin, end, begin, end … to the time of each
/// sample: from the first begin to the last end where the ranks have one clock, else the longest
/// of the ranks' own times. Nanoseconds.
std::vector<double> operation_times(std::span<const std::int64_t> moments, int ranks,
                                    bool one_clock);

}  // namespace paceline::probe
