// A bucket in the memory of a device, where a library such as NCCL carries out its operations.
// device_reduction.cc implements it without a codec, device_dense_reduction.cc with one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <paceline/gradient_pipeline.h>

#include "collectives/gradient/arena.h"
#include "collectives/gradient/bucket_reduction.h"
#include "collectives/gradient/device_looks.h"
#include "collectives/gradient/device_mirror.h"
#include "collectives/gradient/device_scratch.h"
#include "collectives/gradient/schedule.h"

namespace paceline {

/// Everything is borrowed.
struct DeviceSite {
  const GradientArena& arena;
  DeviceMirror& mirror;
  DeviceLooks* looks = nullptr;  ///< null if nothing needs kernels
  DeviceScratch& scratch;
  const GradientOptions& options;
  int rank = 0, ranks = 1;
};

/// request(i) enqueues the work before operation i. Errors of the device have ended the
/// communicator.
class DeviceBucket : public BucketReduction {
 public:
  // A factor of the operation, or of a sum, takes the place of a division after it.
  bool needs_ranks() const override { return true; }
  void begin() override { mark_.reset(); }
  bool work(std::size_t stage, StepTally& tally) final {
    with_data_ = tally.ranks;
    if (stage < operations() || site_.looks == nullptr) return true;
    if (!mark_) {
      const Status ended = enqueue_end();
      const Result<std::uint64_t> mark = ended.ok() ? site_.mirror.mark_after() : ended;
      // Without a mark it waits for good, as the communicator has ended.
      mark_ = mark.ok() ? *mark : UINT64_MAX;
      return false;
    }
    collect(tally);
    release();
    return true;
  }
  bool waits() const override { return mark_ && !site_.mirror.is_reached(*mark_); }

 protected:
  using When = DeviceMirror::When;

  DeviceBucket(const DeviceSite& site, std::size_t number, Bucket bucket)
      : site_(site), number_(number), bucket_(std::move(bucket)) {}

  /// Enqueues the work after all operations, with a look at the results. Called if there are looks.
  virtual Status enqueue_end() = 0;
  /// The device has ended that.
  virtual void release() {}

  const DeviceSite site_;
  const std::size_t number_;
  const Bucket bucket_;
  std::uint64_t with_data_ = 1;  // ranks, of this step

 private:
  void collect(StepTally& tally) {
    const DeviceLooks::Found after = site_.looks->found(number_, When::kAfter);
    if (site_.options.computes_norm) tally.sum_of_squares += after.sum_of_squares;
    if (!site_.options.finds_overflow) return;
    note(after, tally.overflow);
    note(site_.looks->found(number_, When::kBefore), tally.local_overflow);
  }
  void note(const DeviceLooks::Found& found, std::size_t& first) const {
    if (found.first_overflow)
      first = std::min(first, site_.arena.gradient_at(*found.first_overflow));
  }

  std::optional<std::uint64_t> mark_;  // of this step, after all
};

}  // namespace paceline
