#include "collectives/plan/builder.h"

#include <algorithm>
#include <utility>

#include "comm/base/assert.h"

namespace paceline {

PlanBuilder::PlanBuilder(const PlanRequest& request) {
  plan_.rank = request.rank;
  plan_.ranks = request.ranks;
  plan_.shape = shape_of(request);
}

Span PlanBuilder::reserve_scratch(std::size_t count) {
  const Span reserved{PlanBuffer::kScratch, plan_.scratch_count};
  plan_.scratch_count += count;
  return reserved;
}

void PlanBuilder::send(int peer, Span from, std::size_t count) {
  add({.kind = StepKind::kSend, .peer = peer, .count = count, .from = from});
}

void PlanBuilder::recv(int peer, Span into, std::size_t count) {
  add({.kind = StepKind::kRecv, .peer = peer, .count = count, .target = into});
}

void PlanBuilder::copy(const Copy& copy) {
  if (copy.count == 0) return;
  add({.kind = StepKind::kCopy, .count = copy.count, .target = copy.target, .from = copy.from});
}

void PlanBuilder::reduce(const Reduce& reduce) {
  if (reduce.count == 0) return;
  const auto first = static_cast<std::uint32_t>(plan_.operands.size());
  plan_.operands.insert(plan_.operands.end(), reduce.operands.begin(), reduce.operands.end());
  PACELINE_ASSERT(reduce.contributions.empty() ||
                  reduce.contributions.size() == reduce.operands.size());
  if (reduce.contributions.empty())
    plan_.contributions.resize(plan_.operands.size(), 1);
  else
    plan_.contributions.insert(plan_.contributions.end(), reduce.contributions.begin(),
                               reduce.contributions.end());
  add({.kind = StepKind::kReduce,
       .count = reduce.count,
       .target = reduce.target,
       .first_operand = first,
       .operand_count = static_cast<std::uint32_t>(reduce.operands.size())});
}

void PlanBuilder::fence() {
  const StepId end = static_cast<StepId>(plan_.steps.size());
  if (first_after_fence_ == end) return;
  fence_.clear();
  for (StepId id = first_after_fence_; id < end; ++id) {
    if (!followed_[id]) fence_.push_back(id);
  }
  first_after_fence_ = end;
}

Plan PlanBuilder::finish() && { return std::move(plan_); }

void PlanBuilder::add(Step step) {
  const StepId id = static_cast<StepId>(plan_.steps.size());
  const std::vector<Access> accesses = accesses_of(plan_, step);
  found_.clear();
  for (const Access& access : accesses) collect(access);
  drop_implied();
  for (const StepId dependency : found_) followed_[dependency] = true;
  for (const Access& access : accesses) record(id, access);

  step.first_dependency = static_cast<std::uint32_t>(plan_.dependencies.size());
  step.dependency_count = static_cast<std::uint32_t>(found_.size());
  plan_.dependencies.insert(plan_.dependencies.end(), found_.begin(), found_.end());
  plan_.steps.push_back(step);
  followed_.push_back(false);
}

void PlanBuilder::collect(const Access& access) {
  const auto& memory = memories_[static_cast<std::size_t>(access.memory)];
  memory.visit(access.elements, [&](Interval, const Users& users) {
    // The readers depend on the writer: where there are some, they speak for it.
    if (access.writes && !users.readers.empty()) {
      found_.insert(found_.end(), users.readers.begin(), users.readers.end());
    } else if (users.writer != kNone) {
      found_.push_back(users.writer);
    }
  });
}

void PlanBuilder::drop_implied() {
  // Whatever comes after the fence implies everything before it.
  std::erase_if(found_, [&](StepId id) { return id < first_after_fence_; });
  if (found_.empty()) found_ = fence_;
  std::sort(found_.begin(), found_.end());
  found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
  if (found_.size() < 2) return;

  std::vector<StepId> implied;
  for (const StepId id : found_) {
    const auto further = plan_.dependencies_of(plan_.steps[id]);
    implied.insert(implied.end(), further.begin(), further.end());
  }
  std::sort(implied.begin(), implied.end());
  std::erase_if(found_,
                [&](StepId id) { return std::binary_search(implied.begin(), implied.end(), id); });
}

void PlanBuilder::record(StepId id, const Access& access) {
  auto& memory = memories_[static_cast<std::size_t>(access.memory)];
  if (access.writes) {
    memory.assign(access.elements, Users{.writer = id, .readers = {}});
    return;
  }
  memory.update(access.elements, [&](Users& users) {
    if (users.readers.empty() || users.readers.back() != id) users.readers.push_back(id);
  });
}

}  // namespace paceline
