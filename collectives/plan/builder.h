// Writes plans, so that an algorithm reads like prose and its author never lists a dependency.
//
//   PlanBuilder builder(request);
//   builder.send(right, input(0), 100);
//   builder.recv(left, slot, 100);
//   builder.reduce({.target = output(0), .operands = {slot, input(0)}, .count = 100});
//   return std::move(builder).finish();
//
// A step depends on each earlier one that it must not overtake: the last writer of what it reads,
// the last writer and the readers of what it writes. Input and output count as one memory (plan.h),
// so the plan holds in place too. Messages carry no order other than that; where nothing
// is touched, as in a barrier, fence() gives it.
//
// The work is O(log) per step and range touched. Dependencies that another one implies directly
// are left out of the lists.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "collectives/plan/accesses.h"
#include "collectives/plan/interval_map.h"
#include "collectives/plan/plan.h"

namespace paceline {

inline Span input(std::size_t offset) { return {PlanBuffer::kInput, offset}; }
inline Span output(std::size_t offset) { return {PlanBuffer::kOutput, offset}; }

/// A value under construction: one thread, one plan, then finish().
class PlanBuilder {
 public:
  struct Copy {
    Span target;
    Span from;
    std::size_t count = 0;
  };
  struct Reduce {
    Span target;
    std::vector<Span> operands;  // from left to right, at least two
    std::size_t count = 0;
    std::vector<int> contributions = {};  // as in Plan; empty: 1 for each operand
  };

  /// Takes rank, ranks and the shape from the request.
  explicit PlanBuilder(const PlanRequest& request);

  /// The next `count` elements of scratch.
  Span reserve_scratch(std::size_t count);

  /// A message of 0 elements is a message.
  void send(int peer, Span from, std::size_t count);
  void recv(int peer, Span into, std::size_t count);
  /// Local steps on 0 elements are left out.
  void copy(const Copy& copy);
  void reduce(const Reduce& reduce);

  /// Every later step depends on every earlier one. A step after it lists at most the steps that
  /// nothing else followed before it, so keep those few.
  void fence();

  Plan finish() &&;

 private:
  static constexpr StepId kNone = ~StepId{0};
  struct Users {
    StepId writer = kNone;
    std::vector<StepId> readers;  // since the writer
  };

  void add(Step step);
  void collect(const Access& access);
  void drop_implied();
  void record(StepId id, const Access& access);

  Plan plan_;
  std::array<IntervalMap<Users>, kMemories> memories_;
  std::vector<StepId> found_;   // dependencies of the step being added
  std::vector<bool> followed_;  // by step: does a later one depend on it?
  std::vector<StepId> fence_;   // what the steps after the last fence depend on
  StepId first_after_fence_ = 0;
};

}  // namespace paceline
