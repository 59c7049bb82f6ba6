// The slices on a thread of a trace, none of which overlap. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include "comm/base/clock.h"

namespace paceline {

class TraceLane {
 public:
  static constexpr std::size_t kMostKnown = 1024;

  /// Takes the slice, if it overlaps with no other one here. Slices may come in any order. One
  /// before the kMostKnown latest is refused: it might overlap with a forgotten one.
  bool take(Duration begin, Duration end) {
    if (begin < known_from_) return false;
    const auto next = std::ranges::upper_bound(slices_, begin, {}, &Slice::begin);
    if (next != slices_.begin() && std::prev(next)->end > begin) return false;
    if (next != slices_.end() && next->begin < end) return false;
    slices_.insert(next, {.begin = begin, .end = end});
    if (slices_.size() > kMostKnown) forget_half();
    return true;
  }

 private:
  struct Slice {
    Duration begin, end;
  };

  void forget_half() {
    const auto kept = slices_.begin() + kMostKnown / 2;
    known_from_ = std::prev(kept)->end;
    slices_.erase(slices_.begin(), kept);
  }

  std::vector<Slice> slices_;  // by time
  Duration known_from_{};
};

}  // namespace paceline
