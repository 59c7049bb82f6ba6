// Codecs that encode each element, or each block of some tens of elements, separately: bf16, fp16,
// int8.
//
// An all-reduce of encoded elements is two exchanges. Each rank sends every other rank that rank's
// part, encoded. It sums its own part in float32, encodes the sum once, and sends it to all ranks.
// So there are two roundings for any number of ranks, and all ranks decode the same bytes.
#pragma once

#include <cstddef>
#include <span>

#include <paceline/gradient_pipeline.h>

namespace paceline {

/// A row of dense_codecs(). Arrays of elements are aligned for float; encoded arrays may have any
/// address. They do not overlap. If the count is not a multiple of `block`, the last block is
/// shorter. Encoded blocks are contiguous, so that a part that begins at a block can be cut out.
/// All bits are the same on every processor, except which NaN results from two NaNs.
struct DenseCodec {
  Codec codec = Codec::kNone;
  std::size_t block = 1;        ///< elements that are encoded together
  bool needs_feedback = false;  ///< true if it loses so much that its error must be kept
  std::size_t (*encoded_bytes)(std::size_t count) = nullptr;
  /// Encodes in[i], or in[i] + residual[i] if there is a residual. `lost` gets the error: error and
  /// decoded value sum exactly to the input. `lost` may be equal to `residual`, and is null if and
  /// only if `residual` is null. Returns false if an element is not finite, or its code is not
  /// finite. Then the block decodes to values that are not finite, and `lost` gets the residual of
  /// the block, so `lost` is always finite.
  bool (*encode)(const float* in, const float* residual, float* lost, std::size_t count,
                 std::byte* out) = nullptr;
  void (*decode)(const std::byte* in, std::size_t count, float* out) = nullptr;
  void (*decode_add)(const std::byte* in, std::size_t count, float* out) = nullptr;  ///< out[i] +=
};

/// Uses the widest vectors of this processor. This folder has a file for each codec.
std::span<const DenseCodec> dense_codecs();
/// Loops over single elements, as a reference for the vectors.
std::span<const DenseCodec> plain_dense_codecs();

/// The row of a codec; null for codecs that are not dense.
const DenseCodec* find_dense_codec(Codec codec);

}  // namespace paceline
