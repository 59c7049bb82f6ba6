// A plan with what the executor needs to know of it turned round: who waits for a step, and in
// which order the messages to and from each peer go.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/plan/plan.h"

namespace paceline {

class CompiledPlan {
 public:
  explicit CompiledPlan(Plan plan);

  const Plan& plan() const { return plan_; }
  /// Steps that depend on `step`.
  std::span<const StepId> dependents(StepId step) const {
    return std::span(dependents_)
        .subspan(first_dependent_[step], first_dependent_[step + 1] - first_dependent_[step]);
  }

  /// A lane is the steps of one kind (send or recv) with one peer, in the order in which they must
  /// begin. Copies and reductions have none.
  static constexpr std::uint32_t kNoLane = UINT32_MAX;
  std::uint32_t lane_of(StepId step) const { return lane_of_[step]; }
  std::size_t lanes() const { return lanes_.size(); }
  std::span<const StepId> lane(std::uint32_t index) const { return lanes_[index]; }

 private:
  void collect_dependents();
  void collect_lanes();

  Plan plan_;
  std::vector<StepId> dependents_;
  std::vector<std::uint32_t> first_dependent_;  // one more than steps
  std::vector<std::uint32_t> lane_of_;
  std::vector<std::vector<StepId>> lanes_;
};

}  // namespace paceline
