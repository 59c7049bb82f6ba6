// Which gradients backward has finished, and so which buckets are ready. Any thread may mark a
// gradient, without a lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "collectives/gradient/schedule.h"

namespace paceline {

class Readiness {
 public:
  /// `uses`: how often each gradient is marked until it is ready.
  explicit Readiness(std::vector<std::uint32_t> uses);

  // Between steps.

  /// The buckets of later steps. Clears all marks.
  void set_buckets(std::span<const Bucket> buckets);
  /// Clears all marks.
  void clear();

  // From any thread.

  enum class Marked : std::uint8_t {
    kTooOften,    ///< it was ready before; nothing changes
    kAlone,       ///< it has more uses, or its buckets wait for others
    kWholeBucket  ///< a bucket is ready now
  };
  /// Marks one use of a gradient, `ready_us` after the step began.
  Marked mark(std::size_t gradient, double ready_us);
  /// Marks all uses that are left.
  void mark_rest(std::size_t gradient, double ready_us);
  /// All uses are marked.
  bool is_marked(std::size_t gradient) const { return left(gradient) == 0; }
  /// One use is left.
  bool is_last_use(std::size_t gradient) const { return left(gradient) == 1; }
  /// Some use is marked.
  bool has_begun(std::size_t gradient) const { return left(gradient) < uses_[gradient]; }
  std::uint32_t uses(std::size_t gradient) const { return uses_[gradient]; }
  /// All gradients of the bucket are marked.
  bool is_ready(std::size_t bucket) const {
    return missing_[bucket].load(std::memory_order_acquire) == 0;
  }

  /// When a marked gradient became ready.
  double ready_us(std::size_t gradient) const { return ready_us_[gradient]; }
  /// The buckets that have a part of it.
  std::span<const std::size_t> buckets_of(std::size_t gradient) const {
    return buckets_of_[gradient];
  }

 private:
  std::uint32_t left(std::size_t gradient) const {
    return left_[gradient].load(std::memory_order_acquire);
  }
  Marked set_ready(std::size_t gradient, double ready_us);

  const std::vector<std::uint32_t> uses_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> left_;  // by gradient: uses that are not marked
  std::vector<double> ready_us_;
  std::vector<std::vector<std::size_t>> buckets_of_;
  std::vector<std::size_t> gradients_in_;                // by bucket: how many
  std::unique_ptr<std::atomic<std::size_t>[]> missing_;  // by bucket: how many are not marked
};

}  // namespace paceline
