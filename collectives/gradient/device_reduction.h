// Reductions of buckets in the memory of a device, by a library such as NCCL.
#pragma once

#include <cstddef>
#include <memory>

#include <paceline/gradient_pipeline.h>
#include <paceline/types.h>

#include "collectives/gradient/bucket_reduction.h"
#include "collectives/gradient/device_bucket.h"
#include "collectives/gradient/schedule.h"

namespace paceline {

/// One all-reduce. `number`: of the bucket in its schedule. The average is one over the ranks that
/// have data.
std::unique_ptr<BucketReduction> make_device_reduction(const DeviceSite& site, std::size_t number,
                                                       const Bucket& bucket, DataType type);

/// Codecs that kernels of the device encode.
inline bool has_device_codec(Codec codec) { return codec == Codec::kBf16 || codec == Codec::kFp16; }
/// Do the options request what only kernels of the device can do in its memory?
inline bool needs_kernels(const GradientOptions& options) {
  return options.finds_overflow || options.computes_norm || options.codec != Codec::kNone;
}

/// The same exchanges and roundings as make_dense_reduction(). Shards begin at multiples of 128
/// elements here. A rank does not round its own elements of its shard, so bits may differ from the
/// CPU's where shards do. The bucket is one span of float32.
std::unique_ptr<BucketReduction> make_device_dense_reduction(const DeviceSite& site,
                                                             std::size_t number,
                                                             const Bucket& bucket, Codec codec);
/// The scratch memory of that.
std::size_t device_dense_scratch_bytes(const Bucket& bucket, int ranks);

}  // namespace paceline
