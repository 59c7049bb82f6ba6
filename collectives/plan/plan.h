// A plan: what one rank does in one collective operation, as steps with dependencies.
//
// Vocabulary, used by every file here:
//   rank, ranks   this rank and how many there are
//   peer          the rank at the other end of a message
//   count         elements, never bytes; a plan does not know the element type
//   Span          `count` elements of one of three buffers, from `offset`
//   step          send, recv, reduce or copy; it may begin when its dependencies have ended
//
// Rules, which check() (collectives/proof/check.h) proves for a set of plans:
//   - The k-th send to a peer meets the peer's k-th recv from here; their counts are equal.
//   - Steps that touch the same elements, one of them writing, are ordered by dependencies. Input
//     and output count as one memory, in which they lie as an operation in place makes them.
//   - Nothing deadlocks even when a send ends only once its recv has begun, and a message begins
//     only once the earlier ones of the same direction with the same peer have ended.
//   - Dependencies point backwards: the order of `steps` is one legal order.
//   - No step writes the input. In place, a copy may be onto itself: whoever executes the plan
//     skips it.
// How long input and output are, and where they lie to each other in place: shape.h.
// A plan is a value; making one does no I/O and depends on nothing but its request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "collectives/plan/shape.h"

namespace paceline {

enum class StepKind : std::uint8_t { kSend, kRecv, kReduce, kCopy };
enum class PlanBuffer : std::uint8_t { kInput, kOutput, kScratch };

using StepId = std::uint32_t;

/// Where a step reads or writes; the step's count says how much.
struct Span {
  PlanBuffer buffer = PlanBuffer::kInput;
  std::size_t offset = 0;

  bool operator==(const Span&) const = default;
};

/// Reads and writes by kind:
///   send    reads from
///   recv    writes target
///   copy    target = from
///   reduce  target = ((operand op operand) op operand) …, at least two, rounded once at the end.
///           One with the elements of all ranks makes a result.
/// A reduce may write exactly over one of its operands; partial overlap is not allowed.
struct Step {
  StepKind kind = StepKind::kSend;
  int peer = -1;  ///< send and recv only
  std::size_t count = 0;
  Span target{};
  Span from{};
  std::uint32_t first_operand = 0;  ///< into Plan::operands; reduce only
  std::uint32_t operand_count = 0;
  std::uint32_t first_dependency = 0;  ///< into Plan::dependencies
  std::uint32_t dependency_count = 0;

  bool operator==(const Step&) const = default;
};

struct Plan {
  int rank = 0;
  int ranks = 1;
  Shape shape;
  std::size_t scratch_count = 0;
  std::vector<Step> steps;
  std::vector<Span> operands;
  std::vector<int> contributions;  ///< by operand: the number of ranks whose elements it sums up
  std::vector<StepId> dependencies;

  std::span<const StepId> dependencies_of(const Step& step) const {
    return std::span(dependencies).subspan(step.first_dependency, step.dependency_count);
  }
  std::span<const Span> operands_of(const Step& step) const {
    return std::span(operands).subspan(step.first_operand, step.operand_count);
  }
  std::span<const int> contributions_of(const Step& step) const {
    return std::span(contributions).subspan(step.first_operand, step.operand_count);
  }
  /// The number of ranks whose elements the target of a reduce step sums up.
  int contributions_after(const Step& step) const {
    const std::span<const int> all = contributions_of(step);
    return std::accumulate(all.begin(), all.end(), 0);
  }
  bool operator==(const Plan&) const = default;
};

}  // namespace paceline
