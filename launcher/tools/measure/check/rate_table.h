// The rates between hosts, as far as they were measured. Pure.
#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "launcher/connectivity/measurements.h"

namespace paceline::launcher {

/// Of every pair and direction the best flow: whatever else goes on on a host or a switch makes one
/// slower, nothing makes one faster.
class RateTable {
 public:
  RateTable(const probe::Measurements& measured, bool both_ways);

  int hosts() const { return static_cast<int>(hosts_); }
  /// Null where it was not measured. Valid as long as the measurements are.
  const probe::Flow* flow(int from, int to) const;
  std::vector<const probe::Flow*> all() const;
  /// What leaves a host, or what reaches it.
  std::vector<const probe::Flow*> of(int host, bool leaving) const;

  /// The median over hosts of the median of what leaves each; 0 where there is nothing. Half of the
  /// hosts but one may be as slow as they like.
  double expected() const;
  /// 1.4826 times the median distance from `expected`, as a share of it, of the flows that none of
  /// the hosts `without` has to do with. 0 where there are none.
  double spread(double expected, const std::set<int>& without = {}) const;

 private:
  std::size_t hosts_;
  std::vector<const probe::Flow*> flows_;
};

/// The upper one where there are two in the middle; 0 where there are none.
double upper_median(std::vector<double> values);
double median_rate(const std::vector<const probe::Flow*>& flows);

}  // namespace paceline::launcher
