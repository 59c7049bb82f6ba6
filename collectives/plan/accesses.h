// Which elements a step touches. Input and output are one memory here, in which they lie as an
// operation in place makes them; scratch is the other.
#pragma once

#include <cstddef>
#include <vector>

#include "collectives/plan/interval_map.h"
#include "collectives/plan/plan.h"

namespace paceline {

enum class Memory : std::uint8_t { kUser, kScratch };
inline constexpr std::size_t kMemories = 2;

struct Access {
  Memory memory = Memory::kUser;
  Interval elements;
  bool writes = false;
};

/// Where a span begins in its memory.
inline std::size_t offset_of(const Shape& shape, const Span& span) {
  if (span.buffer == PlanBuffer::kInput) return span.offset + shape.input_at;
  if (span.buffer == PlanBuffer::kOutput) return span.offset + shape.output_at;
  return span.offset;
}

inline Access access_of(const Shape& shape, const Span& span, std::size_t count, bool writes) {
  const std::size_t begin = offset_of(shape, span);
  return {.memory = span.buffer == PlanBuffer::kScratch ? Memory::kScratch : Memory::kUser,
          .elements = {begin, begin + count},
          .writes = writes};
}

/// The step's reads, then its writes.
inline std::vector<Access> accesses_of(const Plan& plan, const Step& step) {
  std::vector<Access> accesses;
  const auto add = [&](const Span& span, bool writes) {
    accesses.push_back(access_of(plan.shape, span, step.count, writes));
  };
  if (step.kind == StepKind::kSend || step.kind == StepKind::kCopy) add(step.from, false);
  for (const Span& operand : plan.operands_of(step)) add(operand, false);
  if (step.kind != StepKind::kSend) add(step.target, true);
  return accesses;
}

}  // namespace paceline
