// Buckets that travel in a codec: each lies in one piece, of float32.
//
//   bf16, fp16, int8   all-to-all of encoded shards, sum of the own shard in float32, all-gather of
//                      the encoded sums: two roundings, however many ranks there are
//   topk               all-gather of each rank's entries, which are added in the order of the ranks
//   powersgd           all-reduce of P, all-reduce of Q
//
// What a codec loses is kept beside the gradients and added to the next step's: on each rank what
// it has lost of its own, and, of a shard whose sum it has encoded, also what that has lost.
#pragma once

#include <cstdint>
#include <memory>

#include "collectives/gradient/bucket_reduction.h"
#include "collectives/gradient/bucket_site.h"
#include "collectives/gradient/codecs/dense_codec.h"

namespace paceline {

/// What of a bucket is where. `residual` is borrowed: an element for each of the bucket's; null
/// where nothing is kept.
struct CodedPlace {
  ByteSpan span;
  float* residual = nullptr;
  int rank = 0, ranks = 1;
};

std::unique_ptr<BucketReduction> make_dense_reduction(const BucketSite& site,
                                                      const CodedPlace& place,
                                                      const DenseCodec& codec);
std::unique_ptr<BucketReduction> make_top_k_reduction(const BucketSite& site,
                                                      const CodedPlace& place);
/// `seed`: alike on all ranks, of each bucket its own.
std::unique_ptr<BucketReduction> make_power_sgd_reduction(const BucketSite& site,
                                                          const CodedPlace& place,
                                                          std::uint64_t seed);

}  // namespace paceline
