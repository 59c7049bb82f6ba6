// What the path takes for an operation and for a byte, of the times that operations have taken.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "collectives/gradient/schedule.h"

namespace paceline {

/// An operation may have waited for ranks that came late, so of many that are about as large the
/// quicker ones count: their lower quartile.
class PathMeter {
 public:
  void add(std::size_t bytes, double took_us);
  void clear();

  /// Beta is that of the largest operations; alpha what the smallest ones take beyond that, and not
  /// less than kLeastAlphaUs. Without operations zeros.
  PathCost cost() const;

  static constexpr double kLeastAlphaUs = 1;

 private:
  // Of operations of [2^i, 2^(i + 1)) bytes.
  struct Class {
    std::vector<double> took_us;
    double bytes = 0;  // of all together
  };
  static constexpr std::size_t kClasses = 64;
  static constexpr std::size_t kMostTimes = 256;  // of each class; later ones are left out

  std::array<Class, kClasses> classes_;
};

}  // namespace paceline
