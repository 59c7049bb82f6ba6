// How arrays are cut and scratch is shared, for all algorithms.
//
//   part     one of `parts` nearly equal pieces of an array; sizes differ by at most one, the
//            longer ones come first
//   block    one rank's elements of an array that has as many for each rank
//   segment  at most `segment_count` elements of a part: what travels in one message
//   slot     scratch for one segment that has arrived and not been reduced yet
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "collectives/plan/accesses.h"
#include "collectives/plan/builder.h"
#include "collectives/plan/plan.h"

namespace paceline {

/// Part `index` of `parts`; indices count around in a circle, so that -1 is the last part.
Part part_of(std::size_t count, int parts, int index);

/// Segments that part_of(…) of this length is cut into; 0 for an empty one.
std::size_t segments_in(std::size_t count, std::size_t segment_count);

/// The segments of a part, in order. All are `segment_count` long but the last.
std::vector<Part> segments_of(const Part& part, std::size_t segment_count);

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

/// Of a rank that is alone: the input is the result.
Plan plan_alone(const PlanRequest& request);

}  // namespace paceline
