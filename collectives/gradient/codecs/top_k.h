// Top-k: the k elements of a bucket with the largest magnitudes, and their places. The other
// elements stay in the residual for later steps.
//
// An all-reduce is an all-gather of these entries: each rank gets the entries of every rank, and
// adds them to zeros in the order of the ranks. Source: Aji, Heafield, "Sparse communication for
// distributed gradient descent", EMNLP 2017. With error feedback: Stich, Cordonnier, Jaggi,
// "Sparsified SGD with memory", NeurIPS 2018.
//
// k entries are k places (uint32, ascending), then k values (float32), in the byte order of these
// processors.
//
// Steps: a sample of a few thousand random elements gives a magnitude which somewhat more than k
// elements exceed. One pass counts these elements, and a second pass collects them; the k largest
// are selected from them. If the sample was bad, three passes over all elements find the k-th
// magnitude.
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

  /// Encodes exactly k of in[i], or of in[i] + residual[i] if there is a residual. `lost` gets
  /// these values, with zeros in the encoded places. `lost` may be equal to `residual`, and is null
  /// if and only if `residual` is null. If magnitudes are equal, the first elements are encoded.
  /// `out` may have any address. k <= count < 2^32, and k > 0 if count > 0.
  ///
  /// Returns false if a value is not finite. Then the entries have values that are not finite, and
  /// `lost` gets `residual`.
  bool encode(const float* in, const float* residual, float* lost, std::size_t count, std::size_t k,
              std::byte* out);

 private:
  // Write the k places to chosen_, and all values that may be encoded to `lost`, unless it is null.
  void choose_exactly(const float* in, const float* residual, float* lost, std::size_t count,
                      std::size_t k);
  void choose_of_larger(const float* in, const float* residual, float* lost, std::size_t count,
                        std::size_t k, std::uint32_t magnitude, std::size_t larger);

  std::vector<std::uint32_t> chosen_, candidates_;  // places, ascending
  std::vector<float> values_;                       // of the candidates
};

/// out[place] += value for each entry. Returns false, and adds nothing, if `in` is not a valid
/// result of encode() for count elements: `in` is untrusted.
[[nodiscard]] bool add_top_k(std::span<const std::byte> in, std::size_t count, float* out);

}  // namespace paceline
