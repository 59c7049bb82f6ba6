// Top-k: of a bucket the k elements of largest magnitude, with their places; what is left out waits
// in the residual for later steps.
//
// An all-reduce of so encoded elements is an all-gather: each rank gets every rank's entries, and
// adds them to zeros in the order of the ranks. Source: Aji, Heafield, "Sparse communication for
// distributed gradient descent", EMNLP 2017; with error feedback: Stich, Cordonnier, Jaggi,
// "Sparsified SGD with memory", NeurIPS 2018.
//
// k entries are k places (uint32, ascending), then k values (float32), as processors of this kind
// store them.
//
// Steps: a few thousand elements drawn by lot say above which magnitude there are somewhat more
// than k; a pass counts them; a second one collects them, and of these the k are found. Where the
// lot was bad, three passes over single elements find the k-th magnitude itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace paceline {

/// Keeps its working memory from one call to the next.
class TopK {
 public:
  /// How many of count elements a share is: one at least, if there are any.
  static std::size_t entries(std::size_t count, double share);
  static std::size_t encoded_bytes(std::size_t entries);

  /// Encodes exactly k of in[i], or of in[i] + residual[i] where there is a residual. `lost` gets
  /// the same with zeros for what was taken; it may be `residual` itself, and is null exactly where
  /// `residual` is. Of equal magnitudes the first ones are taken. k <= count < 2^32; where there
  /// are elements, k > 0. `out` lies anywhere.
  ///
  /// False where something is not finite: the entries then are of values that are not finite
  /// either, and `lost` gets what `residual` has.
  bool encode(const float* in, const float* residual, float* lost, std::size_t count, std::size_t k,
              std::byte* out);

 private:
  // Fill chosen_ with the k places, and `lost`, unless null, with what was to be encoded.
  void choose_exactly(const float* in, const float* residual, float* lost, std::size_t count,
                      std::size_t k);
  void choose_of_larger(const float* in, const float* residual, float* lost, std::size_t count,
                        std::size_t k, std::uint32_t magnitude, std::size_t larger);

  std::vector<std::uint32_t> chosen_, candidates_;  // places, ascending
  std::vector<float> values_;                       // of the candidates
};

/// out[place] += value for each entry. False, with nothing added, where that is not what encode()
/// makes of count elements: `in` may come from anybody.
[[nodiscard]] bool add_top_k(std::span<const std::byte> in, std::size_t count, float* out);

}  // namespace paceline
