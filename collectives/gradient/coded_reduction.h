// Buckets that travel in a codec: each lies in one piece, of float32.
//
//   bf16, fp16, int8   all-to-all of encoded shards, sum of the own shard in float32, all-gather of
//                      the encoded sums: two roundings, however many ranks there are
//   topk               all-gather of each rank's entries, which are added in the order of the ranks
//   powersgd           all-reduce of all matrices' P, all-reduce of all Q; what is no matrix, or
//                      too small for one to pay, travels as it is beside the P
//
// What a codec loses is kept beside the gradients and added to the next step's (error_feedback.h):
// on each rank what it has lost of its own, and, of a shard whose sum it has encoded, also what
// that has lost.
#pragma once

#include <memory>
#include <span>

#include "collectives/gradient/bucket_reduction.h"
#include "collectives/gradient/bucket_site.h"
#include "collectives/gradient/codecs/dense_codec.h"
#include "collectives/gradient/error_feedback.h"
#include "collectives/gradient/low_rank_bases.h"

namespace paceline {

/// What of a bucket is where. `feedback` is borrowed; null where nothing is kept.
struct CodedPlace {
  ByteSpan span;
  ErrorFeedback* feedback = nullptr;
  int rank = 0, ranks = 1;

  /// Of elements of the bucket from `element` on: what was lost of earlier steps, and where this
  /// one writes what it loses. Null where nothing is kept.
  const float* residual(std::size_t element = 0) const {
    return feedback == nullptr ? nullptr : feedback->kept(span.begin / sizeof(float) + element);
  }
  float* lost(std::size_t element = 0) const {
    return feedback == nullptr ? nullptr : feedback->lost(span.begin / sizeof(float) + element);
  }
};

std::unique_ptr<BucketReduction> make_dense_reduction(const BucketSite& site,
                                                      const CodedPlace& place,
                                                      const DenseCodec& codec);
std::unique_ptr<BucketReduction> make_top_k_reduction(const BucketSite& site,
                                                      const CodedPlace& place);
/// Of a bucket's parts, of which a matrix pays for one at least. Their bases are borrowed.
std::unique_ptr<BucketReduction> make_power_sgd_reduction(const BucketSite& site,
                                                          const CodedPlace& place,
                                                          std::span<const LowRankPart> parts,
                                                          LowRankBases& bases);

}  // namespace paceline
