// How one bucket is reduced: operations of the communicator, with own work before, between and
// behind them. What travels instead of the elements is up to who implements it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/backend/backend.h"

namespace paceline {

/// What is found out while the buckets of a step are worked on.
struct StepTally {
  static constexpr std::size_t kNone = SIZE_MAX;

  std::uint64_t ranks = 1;       ///< that have data; from the second stage on, or see needs_ranks()
  double sum_of_squares = 0;     ///< of what has been reduced of the bucket
  std::size_t overflow = kNone;  ///< the first gradient that is not finite, reduced
  std::size_t local_overflow = kNone;  ///< and before, of this rank
};

/// With the engine's baton held.
class BucketReduction {
 public:
  virtual ~BucketReduction() = default;

  /// How many operations a step takes, always as many, and the same on every rank.
  virtual std::size_t operations() const = 0;
  /// Its work begins when it is known how many ranks have data. Otherwise the first stage may begin
  /// before that.
  virtual bool needs_ranks() const { return false; }
  /// A new step: its gradients are ready.
  virtual void begin() = 0;
  /// Does a part of the work that comes before operation `stage`, or, of the last stage, behind all
  /// of them, no more than kSliceBytes are worth; true when nothing is left of it.
  virtual bool work(std::size_t stage, StepTally& tally) = 0;
  /// True: work() has nothing to do until a device has ended some of its work. A driver that
  /// watches the device wakes the engine then.
  virtual bool waits() const { return false; }
  /// The operation, when its work has been done. What it points to stays until it has ended.
  /// `all_have_data`: it is known, on every rank, that an average is one over all of them, and may
  /// be divided while it is reduced.
  virtual OperationRequest request(std::size_t operation, bool all_have_data) = 0;

  /// A plain all-reduce of how many bytes has as many on the wire as that operation.
  virtual std::size_t plain_bytes(std::size_t operation) const = 0;

  /// What is worked on at a time: meanwhile nothing comes in or goes out.
  static constexpr std::size_t kSliceBytes = std::size_t{256} << 10;
};

}  // namespace paceline
