#include "collectives/gradient/step_head.h"

#include <algorithm>
#include <cstddef>

#include "collectives/group_members.h"

namespace paceline {
namespace {

std::string times(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " micro-step" : " micro-steps");
}

// What `other` does otherwise; empty where they do the same.
std::string difference(const StepHead& one, const StepHead& other) {
  if (one.step != other.step)
    return "is in step " + std::to_string(other.step) + ", not " + std::to_string(one.step);
  if (one.plan != other.plan) return "does not have the same frozen parameters, loss scale or plan";
  if (other.has_joined == 0 && one.micro_steps != other.micro_steps)
    return "sums up " + times(other.micro_steps) + ", not " + times(one.micro_steps);
  return "";
}

}  // namespace

Result<int> judge_heads(std::span<const StepHead> heads, const Group& group) {
  const auto has_data = [](const StepHead& head) { return head.has_joined == 0; };
  const auto first = std::ranges::find_if(heads, has_data);
  const StepHead& model = first == heads.end() ? heads.front() : *first;
  const auto told_by = static_cast<std::size_t>(&model - heads.data());
  for (std::size_t rank = 0; rank < heads.size(); ++rank) {
    const std::string what = difference(model, heads[rank]);
    if (what.empty()) continue;
    return Status(Code::kMismatch, Scope::kGroup,
                  "gradients of step " + std::to_string(model.step) + ": " +
                      rank_text(group, static_cast<int>(rank)) + " " + what + " as " +
                      rank_text(group, static_cast<int>(told_by)),
                  culprit_of(group, static_cast<int>(rank)));
  }
  return static_cast<int>(std::ranges::count_if(heads, has_data));
}

}  // namespace paceline
