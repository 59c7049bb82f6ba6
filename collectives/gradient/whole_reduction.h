// What reductions of buckets that are encoded as a whole have in common.
#pragma once

#include <algorithm>
#include <cstddef>

#include "collectives/gradient/bucket_reduction.h"
#include "collectives/gradient/bucket_site.h"
#include "collectives/gradient/coded_reduction.h"

namespace paceline {

/// The last stage finishes slice by slice.
class WholeReduction : public BucketReduction {
 public:
  void begin() override { next_ = 0; }

 protected:
  WholeReduction(const BucketSite& site, const CodedPlace& place) : site_(site), place_(place) {}

  bool finish_next(StepTally& tally) {
    const ByteSpan part{.begin = place_.span.begin + next_,
                        .bytes = std::min(kSliceBytes, place_.span.bytes - next_)};
    site_.finish_decoded(part, site_.divisor(tally), tally);
    next_ += part.bytes;
    return next_ == place_.span.bytes;
  }

  const BucketSite site_;
  const CodedPlace place_;
  std::size_t next_ = 0;  // bytes of the last stage that are done
};

}  // namespace paceline
