// The error that codecs keep for the next step: a float for each element of the arena. A step that
// the ranks skip does not change it.
//
// A rank knows only after all buckets of a step are reduced whether the step counts. So a step
// reads kept() and writes lost(), which is a second array of the same size. commit() swaps the two;
// without commit() nothing has changed. Data is copied only when buckets change.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "collectives/gradient/schedule.h"
#include "comm/bytes.h"

namespace paceline {

/// Not thread-safe: one thread at a time. Pure.
class ErrorFeedback {
 public:
  /// Starts with zeros. `elements` is 0 if no codec keeps an error.
  explicit ErrorFeedback(std::size_t elements) : settled_(elements) {}

  bool is_kept() const { return !settled_.empty(); }

  /// Called between steps. `spans`: the ranges of the arena that each later step writes completely.
  /// They do not overlap.
  void set_spans(std::vector<ByteSpan> spans);

  /// The error that counted steps left, from `element` of the arena to the end of its span. Valid
  /// during this step.
  const float* kept(std::size_t element) const { return current() + element; }
  /// Where this step writes its error.
  float* lost(std::size_t element) { return (is_other_ ? settled_ : other_).data() + element; }
  /// Call it if the step counts.
  void commit() { is_other_ = !is_other_; }

  std::size_t elements() const { return settled_.size(); }
  /// Appends the contents of kept(), in the order of the arena.
  void save(Bytes& into) const;
  /// Replaces the contents of kept(); `elements` has all elements.
  void load(std::span<const float> elements);
  /// Multiplies kept() by `factor`. An element that would not be finite becomes 0.
  void scale(float factor);
  /// Sets kept() to 0 in this part of the arena.
  void clear(const ByteSpan& part);

 private:
  const float* current() const { return (is_other_ ? other_ : settled_).data(); }

  std::vector<float> settled_;
  std::vector<float> other_;     // the same size, once there are spans
  bool is_other_ = false;        // true: kept() is other_, and settled_ outside the spans
  std::vector<ByteSpan> spans_;  // of the arena
};

}  // namespace paceline
