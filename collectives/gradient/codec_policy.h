// Which codec each bucket uses: what codecs take and lose is measured on gradients as they are, all
// ranks add that up, and each decides the same from it (codecs/codec_choice.h).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <paceline/gradient_pipeline.h>

#include "collectives/gradient/codec_choice.h"
#include "comm/base/clock.h"

namespace paceline {

/// The beginning of a gradient.
struct GradientSample {
  std::span<const float> elements;
  std::size_t columns = 0;  ///< of its matrix; 0: unknown
};

/// True if the codec loses so much that its error must be kept.
bool needs_feedback(Codec codec);

class CodecPolicy {
 public:
  CodecPolicy(const GradientOptions& options, int ranks);

  /// True if any candidate needs feedback.
  bool keeps_residuals() const;

  /// Encodes and decodes the sample with each candidate; what all ranks add up goes behind `told`.
  void tell(const GradientSample& sample, const Clock& clock, std::vector<double>& told) const;
  /// What tell() has told, summed over all ranks.
  void hear(std::span<const double> told);

  /// Before anything was heard none, but what is forced.
  Codec current() const { return current_; }
  /// Decides anew what is current: what a typical bucket, of so many bytes in float32, uses.
  void settle(std::size_t bytes, const PathCost& path) { current_ = choose(bytes, path); }
  /// Of any other bucket.
  Codec choose(std::size_t bytes, const PathCost& path) const;
  /// What an operation of such a codec takes for each of the bucket's own bytes, all its operations
  /// together.
  PathCost path_of(Codec codec, const PathCost& path) const;
  /// For people, once for each candidate that such a bucket does not use: why.
  std::vector<std::string> news(std::size_t bytes, const PathCost& path);

 private:
  struct Candidate {
    CodecFigures figures;
    bool was_told_off = false;
  };
  CodecFigures measured(Codec codec, const GradientSample& sample, const Clock& clock) const;
  CodedBucket bucket(std::size_t bytes, const PathCost& path) const;
  bool is_forced() const { return options_.forces_codec && options_.codec != Codec::kAuto; }

  const GradientOptions options_;
  const int ranks_;
  const ChoiceRules rules_;
  std::vector<Candidate> candidates_;
  bool has_heard_ = false;
  Codec current_ = Codec::kNone;
};

}  // namespace paceline
