// Which elements a step touches. Input and output are one memory here, because an operation in
// place makes them so; scratch is the other.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "collectives/plan/interval_map.h"
#include "collectives/plan/plan.h"

namespace paceline {

enum class Memory : std::uint8_t { kUser, kScratch };
inline constexpr std::size_t kMemories = 2;

inline Memory memory_of(PlanBuffer buffer) {
  return buffer == PlanBuffer::kScratch ? Memory::kScratch : Memory::kUser;
}

struct Access {
  Memory memory = Memory::kUser;
  Interval elements;
  bool writes = false;
};

/// At most three; reads come before the write.
class StepAccesses {
 public:
  explicit StepAccesses(const Step& step) {
    if (step.kind != StepKind::kRecv) add(step.left, step.count, false);
    if (step.kind == StepKind::kReduce) add(step.right, step.count, false);
    if (step.kind != StepKind::kSend) add(step.target, step.count, true);
  }

  auto begin() const { return accesses_.begin(); }
  auto end() const { return accesses_.begin() + size_; }

 private:
  void add(const Span& span, std::size_t count, bool writes) {
    accesses_[static_cast<std::size_t>(size_++)] = {
        memory_of(span.buffer), {span.offset, span.offset + count}, writes};
  }

  std::array<Access, 3> accesses_;
  std::ptrdiff_t size_ = 0;
};

}  // namespace paceline
