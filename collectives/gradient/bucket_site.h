// A bucket's elements in the arena, and what is done to them whatever travels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <paceline/gradient_pipeline.h>

#include "collectives/gradient/arena.h"
#include "collectives/gradient/arithmetic.h"
#include "collectives/gradient/bucket_reduction.h"

namespace paceline {

/// A reduced element is multiplied with `multiplier`, then divided by `divisor`.
struct Quotient {
  std::uint64_t multiplier = 1;
  std::uint64_t divisor = 1;

  bool operator==(const Quotient&) const = default;
};

/// The arena is borrowed.
class BucketSite {
 public:
  /// `guards_feedback`: reduced elements are checked even if the options do not request it. The
  /// error of a codec must not be kept if the step is not finite.
  BucketSite(const GradientArena& arena, DataType type, const GradientOptions& options,
             bool guards_feedback)
      : arena_(arena),
        type_(type),
        options_(options),
        looks_at_reduced_(options.finds_overflow || guards_feedback) {}

  DataType type() const { return type_; }
  const GradientOptions& options() const { return options_; }
  std::byte* at(std::size_t offset) const { return arena_.at(offset); }

  /// What a sum is divided by.
  std::uint64_t divisor(const StepTally& tally) const {
    return options_.is_average ? tally.ranks : 1;
  }
  bool has_to_finish(const Quotient& quotient) const {
    return quotient != Quotient() || looks_at_reduced_ || options_.computes_norm;
  }

  /// Looks at what this rank hands in.
  void look(const ByteSpan& part, StepTally& tally) const {
    if (options_.finds_overflow && !are_finite(type_, at(part.begin), count(part)))
      tally.local_overflow = std::min(tally.local_overflow, first_overflow(part));
  }
  /// Divides what has been reduced, and looks at it.
  void finish(const ByteSpan& part, const Quotient& quotient, StepTally& tally) const {
    const Finished finished = finish_elements(type_, at(part.begin), count(part),
                                              {.multiplier = quotient.multiplier,
                                               .divisor = quotient.divisor,
                                               .finds_overflow = looks_at_reduced_,
                                               .sums_squares = options_.computes_norm});
    if (!finished.is_finite) tally.overflow = std::min(tally.overflow, first_overflow(part));
    tally.sum_of_squares += finished.sum_of_squares;
  }
  /// The same of what a codec has decoded.
  void finish_decoded(const ByteSpan& part, std::uint64_t divisor, StepTally& tally) const {
    clear_padding(part, at(part.begin));
    finish(part, {.divisor = divisor}, tally);
  }
  /// What is behind gradients' own bytes in `part` is nobody's, and remains zeros: a codec that
  /// takes a block or a matrix as a whole leaves something there, which would be summed up with the
  /// gradients of the next step. `bytes` are those of the part, in the arena or beside it.
  void clear_padding(const ByteSpan& part, std::byte* bytes) const {
    for (const std::size_t i : arena_.gradients_from(part.begin)) {
      const ByteSpan& place = arena_.place(i);
      if (place.begin >= part.end()) break;
      const std::size_t begin = std::max(place.begin + arena_.of(i).size(), part.begin);
      const std::size_t end = std::min(place.end(), part.end());
      if (begin < end) std::memset(bytes + (begin - part.begin), 0, end - begin);
    }
  }
  /// Whose element it is that a codec has no code for.
  void cannot_encode(std::size_t offset, StepTally& tally) const {
    tally.local_overflow = std::min(tally.local_overflow, arena_.gradient_at(offset));
  }

 private:
  std::size_t count(const ByteSpan& part) const { return part.bytes / size_of(type_); }
  std::size_t first_overflow(const ByteSpan& part) const {
    std::size_t offset = part.begin;
    while (offset < part.end() && are_finite(type_, at(offset), 1)) offset += size_of(type_);
    return arena_.gradient_at(offset);
  }

  const GradientArena& arena_;
  const DataType type_;
  const GradientOptions options_;
  const bool looks_at_reduced_;
};

}  // namespace paceline
