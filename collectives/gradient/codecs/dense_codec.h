// Codecs that encode each element, or each block of some tens, by itself: bf16, fp16, int8.
//
// An all-reduce of so encoded elements is two exchanges: each rank sends each other one that one's
// part, encoded; sums in float32 what it gets for its own part; encodes the sum once, and sends it
// to all. So there are two roundings however many ranks there are, and all decode the same bytes.
#pragma once

#include <cstddef>
#include <span>

#include <paceline/gradient_pipeline.h>

namespace paceline {

/// A row of dense_codecs(). Arrays of elements are aligned for float, encoded ones lie anywhere;
/// they do not overlap. A count that is no multiple of `block` has a short last block; what whole
/// blocks become lies behind each other, so that parts that begin at a block can be cut out. Of
/// everything the bits do not depend on the processor, but for which NaN comes of two.
struct DenseCodec {
  Codec codec = Codec::kNone;
  std::size_t block = 1;        ///< elements that are encoded together
  bool needs_feedback = false;  ///< it loses so much that what is lost has to be kept
  std::size_t (*encoded_bytes)(std::size_t count) = nullptr;
  /// Encodes in[i], or in[i] + residual[i] where there is a residual. `lost` gets what was lost:
  /// that and what is decoded make exactly what was encoded. It may be `residual` itself, and is
  /// null exactly where `residual` is. False where an element was finite and its code is not, or it
  /// was not finite: its block then decodes to what is not finite, and `lost` gets the residual of
  /// the block, so that it always is finite.
  bool (*encode)(const float* in, const float* residual, float* lost, std::size_t count,
                 std::byte* out) = nullptr;
  void (*decode)(const std::byte* in, std::size_t count, float* out) = nullptr;
  void (*decode_add)(const std::byte* in, std::size_t count, float* out) = nullptr;  ///< out[i] +=
};

/// By the fastest vectors that this processor has; a file for each in this folder.
std::span<const DenseCodec> dense_codecs();
/// Loops over single elements: what the others are compared with.
std::span<const DenseCodec> plain_dense_codecs();

/// The row of a codec; none of those that are not dense.
const DenseCodec* find_dense_codec(Codec codec);

}  // namespace paceline
