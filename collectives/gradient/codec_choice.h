// Which codec takes the least time for a bucket: pure decisions on what was measured.
//
// A plain all-reduce of b bytes among n ranks takes alpha + beta × b: PathCost of the path. Each
// rank sends 2(n-1)/n × b of it, and so one byte that each rank sends takes beta × n / (2(n-1)).
// Of e bytes that a rank's bucket is encoded to each rank sends
//
//   bf16, fp16, int8   2(n-1)/n × e   two exchanges, each of (n-1)/n × e
//   topk               (n-1) × e      an all-gather of e, which is k entries
//   powersgd           2(n-1)/n × e   all-reduces of e, which is (rows + columns) × r floats
//
// in as many operations as its figures say, each of which takes alpha. A bucket takes that on the
// wire, and the time to encode and decode.
//
// A codec whose error is beyond the budget is off. Of the others one that is off is taken where it
// takes less than 1 - margin of what is used now; one that is used stays until it takes more than
// plain transfer does. Between both nothing changes: times that are measured anew in each step do
// not make it come and go.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include <paceline/gradient_pipeline.h>

#include "collectives/gradient/schedule.h"

namespace paceline {

/// Measured of a codec. Times are of all that a rank encodes or decodes for a bucket, for each of
/// the bucket's bytes in float32.
struct CodecFigures {
  Codec codec = Codec::kNone;
  double encode_us_per_byte = 0;
  double decode_us_per_byte = 0;
  double encoded_share = 1;   ///< of the bytes in float32
  int operations = 1;         ///< on the path, for a bucket
  double relative_error = 0;  ///< L2, of the reduced bucket
};

struct CodedBucket {
  std::size_t bytes = 0;  ///< in float32
  int ranks = 1;
  PathCost path;
};

struct ChoiceRules {
  double error_budget = 0.01;
  double margin = 0.1;
};

/// What a bucket takes.
struct CodecTimes {
  double work_us = 0;  ///< to encode and decode
  double wire_us = 0;

  double total_us() const { return work_us + wire_us; }
};
CodecTimes times_of(const CodecFigures& figures, const CodedBucket& bucket);
/// Without a codec.
double plain_us(const CodedBucket& bucket);

/// The codec that takes the least time, of those whose error is within the budget; kNone where none
/// is worth it. `current` is what the bucket uses now. Of equals the first one.
Codec choose_codec(Codec current, std::span<const CodecFigures> codecs, const CodedBucket& bucket,
                   const ChoiceRules& rules);

/// For people: "int8 is off: 3.1 ms to encode and decode + 2 ms on the wire against 2.2 ms plain".
/// Nothing where plain transfer would give way to it.
std::optional<std::string> why_off(const CodecFigures& figures, const CodedBucket& bucket,
                                   const ChoiceRules& rules);

}  // namespace paceline
