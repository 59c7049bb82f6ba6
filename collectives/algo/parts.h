// How arrays are cut and scratch is shared, for all algorithms.
//
//   part     one of `parts` nearly equal pieces of an array; sizes differ by at most one, the
//            longer ones come first
//   block    one rank's elements of an array that has as many for each rank
//   segment  at most `segment_count` elements of a part: what travels in one message
//   piece    what each of several senders sends at a time of what they send to be reduced together
//   slot     scratch for one segment or piece that has arrived and not been reduced yet
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "collectives/plan/accesses.h"
#include "collectives/plan/builder.h"
#include "collectives/plan/cost.h"
#include "collectives/plan/plan.h"

namespace paceline {

/// Part `index` of `parts`; indices count around in a circle, so that -1 is the last part.
Part part_of(std::size_t count, int parts, int index);

/// Segments that part_of(…) of this length is cut into; 0 for an empty one.
std::size_t segments_in(std::size_t count, std::size_t segment_count);

/// Elements, and the messages that carry them in segments.
struct Sends {
  std::size_t count = 0;
  std::size_t messages = 0;

  Sends& operator+=(const Sends& other) {
    count += other.count;
    messages += other.messages;
    return *this;
  }
  friend Sends operator+(Sends a, const Sends& b) { return a += b; }
  friend Sends operator-(const Sends& a, const Sends& b) {
    return {a.count - b.count, a.messages - b.messages};
  }
  friend Sends operator*(std::size_t times, const Sends& one) {
    return {times * one.count, times * one.messages};
  }
  /// The cost of the rank that sends them.
  Cost cost() const { return {.messages = messages, .count_sent = count}; }
};
Sends sends_of(std::size_t count, std::size_t segment_count);
/// The sum for all parts: part_of(count, parts, …).
Sends sends_of_parts(std::size_t count, int parts, std::size_t segment_count);

/// The segments of a part, in order. All are `segment_count` long but the last.
std::vector<Part> segments_of(const Part& part, std::size_t segment_count);

/// The longest message of an array that passes through `rounds` ranks one after the other: there
/// are at least 4 messages for each round, so that filling the ranks takes a fraction of the time.
std::size_t pipelined_count(std::size_t count, int rounds, std::size_t segment_count);

/// Hands out scratch for `slot_count` elements at a time, the same few places in turn. Taking one
/// again makes the steps on it wait for those of its last use, which bounds scratch whatever the
/// count.
class ScratchSlots {
 public:
  /// Three arrivals may be under way while a fourth is reduced.
  static constexpr std::size_t kSlots = 4;

  /// The builder is borrowed.
  ScratchSlots(PlanBuilder& builder, std::size_t slot_count)
      : builder_(builder), slot_count_(slot_count) {}

  Span next();

 private:
  PlanBuilder& builder_;
  std::size_t slot_count_;
  std::vector<Span> slots_;
  std::size_t taken_ = 0;
};

/// Scratch for pieces of at most `slot_count` elements from each sender: for two pieces, so that
/// the next one arrives while one is reduced.
class PieceSlots {
 public:
  static constexpr std::size_t kAtOnce = 2;  ///< pieces

  /// The longest piece with which this is no more than ScratchSlots::kSlots segments; one element
  /// at least, so with more senders than a segment has elements it may be more.
  static std::size_t piece_count(std::size_t segment_count, std::size_t senders);

  PieceSlots(PlanBuilder& builder, std::size_t slot_count, std::size_t senders);

  /// Where that piece of that sender (from 0) belongs; steps on it wait for those of the piece
  /// that lay there before.
  Span of(std::size_t piece, std::size_t sender) const {
    return slots_[piece % kAtOnce * senders_ + sender];
  }

 private:
  std::size_t senders_;
  std::vector<Span> slots_;
};

}  // namespace paceline
