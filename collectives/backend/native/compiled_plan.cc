#include "collectives/backend/native/compiled_plan.h"

#include <map>
#include <utility>

namespace paceline {

CompiledPlan::CompiledPlan(Plan plan) : plan_(std::move(plan)) {
  collect_dependents();
  collect_lanes();
}

// A counting sort of the dependencies by the step that is depended on.
void CompiledPlan::collect_dependents() {
  first_dependent_.assign(plan_.steps.size() + 1, 0);
  for (const StepId dependency : plan_.dependencies) ++first_dependent_[dependency + 1];
  for (std::size_t i = 1; i < first_dependent_.size(); ++i) {
    first_dependent_[i] += first_dependent_[i - 1];
  }
  dependents_.resize(plan_.dependencies.size());
  std::vector<std::uint32_t> next(first_dependent_.begin(), first_dependent_.end() - 1);
  for (StepId step = 0; step < plan_.steps.size(); ++step) {
    for (const StepId dependency : plan_.dependencies_of(plan_.steps[step])) {
      dependents_[next[dependency]++] = step;
    }
  }
}

void CompiledPlan::collect_lanes() {
  std::map<std::pair<StepKind, int>, std::uint32_t> known;
  for (StepId id = 0; id < plan_.steps.size(); ++id) {
    const Step& step = plan_.steps[id];
    if (step.kind != StepKind::kSend && step.kind != StepKind::kRecv) {
      lane_of_.push_back(kNoLane);
      continue;
    }
    const auto next = static_cast<std::uint32_t>(lanes_.size());
    const auto [lane, is_new] = known.emplace(std::pair(step.kind, step.peer), next);
    if (is_new) lanes_.emplace_back();
    lanes_[lane->second].push_back(id);
    lane_of_.push_back(lane->second);
  }
}

}  // namespace paceline
