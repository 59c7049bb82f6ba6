// Compares links with an earlier measurement of the same hosts. Pure.
//
// Peers show which link is slower than others, and not that all of them are slow. A record from
// when the cluster was known to be good shows that, too.
#pragma once

#include <cstddef>
#include <map>
#include <set>

#include "launcher/connectivity/measurements.h"
#include "launcher/tools/measure/check/judged_rates.h"

namespace paceline::launcher {

struct Comparison {
  std::size_t measured = 0;  ///< directions of the new record
  /// The rates of the baseline, in bits/s, of those that it has by the names of hosts. Numbered as
  /// in the new record.
  std::map<Direction, double> before;
  std::set<Direction> slow;  ///< of `before`: slower now
  double median_before = 0;  ///< bits/s
  double median_now = 0;
  bool all_are_slow() const;  ///< most of what was measured
};

Comparison compare(const RateTable& now, const probe::Measurements& measured,
                   const probe::Measurements& baseline);

}  // namespace paceline::launcher
