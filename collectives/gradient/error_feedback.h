// What codecs have lost, for the next step: a float for each element of the arena. A step that some
// rank has to skip leaves no trace here.
//
// Whether a step counts is known on all ranks only when all its buckets have come back. So a step
// reads kept() and writes lost(), which lies in a second array of the same size, and commit() makes
// that what the next step reads. A step without commit() has changed nothing. Nothing is copied but
// when buckets change.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "collectives/gradient/schedule.h"
#include "comm/bytes.h"

namespace paceline {

/// Not for use by two threads at a time. Pure.
class ErrorFeedback {
 public:
  /// Of zeros; of 0 elements where no codec keeps anything.
  explicit ErrorFeedback(std::size_t elements) : settled_(elements) {}

  bool is_kept() const { return !settled_.empty(); }

  /// Between steps: where the next ones write, in each step every element. Apart from each other.
  void set_spans(std::vector<ByteSpan> spans);

  /// What the steps that counted have left: elements of the arena from `element` on, as far as the
  /// span goes. Valid in this step.
  const float* kept(std::size_t element) const { return current() + element; }
  /// Where this step writes what it loses.
  float* lost(std::size_t element) { return (is_other_ ? settled_ : other_).data() + element; }
  /// The step counts.
  void commit() { is_other_ = !is_other_; }

  std::size_t elements() const { return settled_.size(); }
  /// Appends what kept() has, in the order of the arena.
  void save(Bytes& into) const;
  /// kept() has these from now on, of all elements.
  void load(std::span<const float> elements);

 private:
  const float* current() const { return (is_other_ ? other_ : settled_).data(); }

  std::vector<float> settled_;
  std::vector<float> other_;     // as long, once there are spans
  bool is_other_ = false;        // kept() is there; outside of the spans it is in settled_
  std::vector<ByteSpan> spans_;  // of the arena
};

}  // namespace paceline
