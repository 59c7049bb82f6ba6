// Where ranks that measure come together, apart from what they measure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <paceline/status.h>

namespace paceline::probe {

/// One rank's end of it. One thread. Every call is collective and has a deadline.
class Meeting {
 public:
  /// How many values a rank can share at once.
  static constexpr std::size_t kMaxShared = 8192;

  virtual ~Meeting() = default;
  /// Returns when every rank has called it.
  virtual Status meet() = 0;
  /// Every rank's values, rank after rank; each rank gives as many, at most kMaxShared.
  virtual Result<std::vector<std::int64_t>> share(std::span<const std::int64_t> own) = 0;
  /// Whether moments that ranks have read from their clocks can be compared.
  virtual bool has_one_clock() const = 0;
};

}  // namespace paceline::probe
