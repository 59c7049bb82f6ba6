// Reductions of buckets in a codec. Each bucket is contiguous and float32.
//
//   bf16, fp16, int8   all-to-all of encoded shards, sum of the own shard in float32, all-gather of
//                      the encoded sums: two roundings for any number of ranks
//   topk               all-gather of each rank's entries, which are added in the order of the ranks
//   powersgd           all-reduce of P of all matrices, then all-reduce of all Q; vectors and small
//                      matrices, which a low rank would not shorten, travel uncompressed with P
//
// The error of a codec is stored beside the gradients and added to those of the next step
// (error_feedback.h). Each rank stores the error of its own gradients. If it has encoded the sum of
// a shard, it also stores the error of that sum.
#pragma once

#include <memory>
#include <span>

#include "collectives/gradient/bucket_reduction.h"
#include "collectives/gradient/bucket_site.h"
#include "collectives/gradient/codecs/dense_codec.h"
#include "collectives/gradient/error_feedback.h"
#include "collectives/gradient/low_rank_bases.h"

namespace paceline {

/// The place of a bucket. `feedback` is borrowed; null if no error is kept.
struct CodedPlace {
  ByteSpan span;
  ErrorFeedback* feedback = nullptr;
  int rank = 0, ranks = 1;

  /// The errors for the elements of the bucket from `element` on: residual() of earlier steps,
  /// lost() to write those of this step. Null if no error is kept.
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
/// For the parts of a bucket; at least one of them must be shorter as a low-rank matrix. Their
/// bases are borrowed.
std::unique_ptr<BucketReduction> make_power_sgd_reduction(const BucketSite& site,
                                                          const CodedPlace& place,
                                                          std::span<const LowRankPart> parts,
                                                          LowRankBases& bases);

}  // namespace paceline
