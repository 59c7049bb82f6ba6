// How much a trace may write: less than 50 MB in any hour, however much happens. Pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "comm/base/clock.h"

namespace paceline {

/// A token bucket. Unused bytes are saved up to a max, so a trace has the first seconds of a job in
/// detail.
class TraceBudget {
 public:
  static constexpr double kBytesPerS = 12e3;
  static constexpr double kMostSaved = 4e6;
  /// Max of a whole trace, which is more than ten hours.
  static constexpr std::size_t kMostBytes = 500'000'000;

  explicit TraceBudget(TimePoint begin, std::size_t most_bytes = kMostBytes)
      : most_bytes_(most_bytes), passed_(begin) {}

  void pass(TimePoint now) {
    const std::chrono::duration<double> elapsed = now - passed_;
    left_ = std::min(kMostSaved, left_ + kBytesPerS * std::max(elapsed.count(), 0.0));
    passed_ = std::max(passed_, now);
  }
  /// Spending more than there is delays later events.
  void spend(std::size_t bytes) {
    left_ -= static_cast<double>(bytes);
    spent_ += bytes;
  }
  /// `debt`: bytes that may be taken from later events.
  bool has(std::size_t bytes, double debt = 0) const {
    return static_cast<double>(bytes) <= left_ + debt;
  }
  bool is_at_its_end() const { return spent_ >= most_bytes_; }

 private:
  const std::size_t most_bytes_;
  double left_ = kMostSaved;
  std::size_t spent_ = 0;
  TimePoint passed_;
};

}  // namespace paceline
