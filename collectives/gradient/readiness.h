// Which gradients backward has finished, and which buckets are whole by that. Marked from any
// thread, without a lock.
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
  explicit Readiness(std::size_t gradients);

  // Between steps.

  /// What travels from now on. Nothing is marked then.
  void set_buckets(std::span<const Bucket> buckets);
  /// Nothing is marked any more.
  void clear();

  // From any thread.

  enum class Marked : std::uint8_t {
    kTwice,       ///< it had been marked, and nothing is done
    kAlone,       ///< its buckets wait for others
    kWholeBucket  ///< a bucket is ready by it
  };
  /// Marks one that is ready, so long after the step began.
  Marked mark(std::size_t gradient, double ready_us);
  bool is_marked(std::size_t gradient) const {
    return marks_[gradient].load(std::memory_order_acquire) != 0;
  }
  /// All gradients that the bucket has a part of are marked.
  bool is_ready(std::size_t bucket) const {
    return missing_[bucket].load(std::memory_order_acquire) == 0;
  }

  /// Of one that is marked.
  double ready_us(std::size_t gradient) const { return ready_us_[gradient]; }
  /// The buckets that have a part of it.
  std::span<const std::size_t> buckets_of(std::size_t gradient) const {
    return buckets_of_[gradient];
  }

 private:
  std::unique_ptr<std::atomic<std::uint8_t>[]> marks_;  // by gradient
  std::vector<double> ready_us_;
  std::vector<std::vector<std::size_t>> buckets_of_;
  std::vector<std::size_t> gradients_in_;                // by bucket: how many
  std::unique_ptr<std::atomic<std::size_t>[]> missing_;  // by bucket: how many are not marked
};

}  // namespace paceline
