// A bucket as it is: one all-reduce of its elements, where they lie if they lie together.
#pragma once

#include <memory>

#include "collectives/gradient/bucket_reduction.h"
#include "collectives/gradient/bucket_site.h"
#include "collectives/gradient/schedule.h"

namespace paceline {

std::unique_ptr<BucketReduction> make_plain_reduction(const BucketSite& site, Bucket bucket);

}  // namespace paceline
