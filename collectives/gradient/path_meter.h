// What the path takes for a byte, of the times that operations have taken.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace paceline {

/// An operation may have waited for ranks that came late, so of many that are about as large the
/// quicker ones count: their lower quartile.
class PathMeter {
 public:
  void add(std::size_t bytes, double took_us);
  void clear();

  /// Where an operation takes `alpha_us` and beta for each byte: beta, of the operations that have
  /// moved most, taken together by their size. Nought without operations.
  double beta_us(double alpha_us) const;

 private:
  struct Taken {
    double bytes = 0, us = 0;
  };
  // Of [2^i, 2^(i + 1)) bytes.
  static constexpr std::size_t kClasses = 64;
  static constexpr std::size_t kMostTimes = 256;  // of each class; later ones are left out

  std::array<std::vector<Taken>, kClasses> classes_;
};

}  // namespace paceline
