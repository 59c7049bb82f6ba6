// A bucket in the memory of a device: one all-reduce there, by a library such as NCCL.
#pragma once

#include <cstddef>
#include <memory>

#include <paceline/types.h>

#include "collectives/gradient/bucket_reduction.h"
#include "collectives/gradient/schedule.h"

namespace paceline {

/// `memory`: the address on the device that belongs to offset 0 of the arena. The average is one
/// over the ranks that have data.
std::unique_ptr<BucketReduction> make_device_reduction(std::byte* memory, const Bucket& bucket,
                                                       DataType type, int ranks, bool is_average);

}  // namespace paceline
