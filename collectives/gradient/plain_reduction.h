// A bucket without a codec: one all-reduce of its elements, without a copy if they adjoin.
#pragma once

#include <memory>

#include "collectives/gradient/bucket_reduction.h"
#include "collectives/gradient/bucket_site.h"
#include "collectives/gradient/schedule.h"

namespace paceline {

std::unique_ptr<BucketReduction> make_plain_reduction(const BucketSite& site, Bucket bucket,
                                                      int ranks);

}  // namespace paceline
