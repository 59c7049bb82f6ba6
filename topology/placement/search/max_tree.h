// The largest of many numbers that change one at a time.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <vector>

namespace paceline::topology {

///            max of all
///          /            \          a change goes up only as far as it changes what is above;
///       max              max       numbers are 0 at first
///      /   \            /   \      .
///    [0]   [1]        [2]   [3]
class MaxTree {
 public:
  explicit MaxTree(std::size_t count)
      : leaves_(std::bit_ceil(std::max<std::size_t>(count, 1))), nodes_(2 * leaves_) {}

  double max() const { return nodes_[1]; }
  double at(std::size_t place) const { return nodes_[leaves_ + place]; }

  void set(std::size_t place, double value) {
    std::size_t node = leaves_ + place;
    nodes_[node] = value;
    for (node /= 2; node >= 1; node /= 2) {
      const double larger = std::max(nodes_[2 * node], nodes_[2 * node + 1]);
      if (nodes_[node] == larger) return;
      nodes_[node] = larger;
    }
  }

  /// Of the largest, the first.
  std::size_t largest() const {
    std::size_t node = 1;
    while (node < leaves_) node = nodes_[2 * node] == nodes_[node] ? 2 * node : 2 * node + 1;
    return node - leaves_;
  }

 private:
  std::size_t leaves_;
  std::vector<double> nodes_;  // of node i those below are 2i and 2i + 1
};

}  // namespace paceline::topology
