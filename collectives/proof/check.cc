#include "collectives/proof/check.h"

#include <string>
#include <vector>

#include "collectives/plan/accesses.h"
#include "collectives/plan/matching.h"
#include "collectives/plan/text.h"
#include "collectives/proof/races.h"
#include "collectives/proof/results.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

// Of the set as a whole: as many plans as ranks, each with the buffers that the request has.
Status check_shape(std::span<const Plan> plans, const std::vector<PlanRequest>& requests) {
  if (requests.empty() || plans.size() != requests.size()) {
    return Status(
        Code::kInternal, Scope::kOperation,
        std::to_string(plans.size()) + " plans for " + std::to_string(requests.size()) + " ranks");
  }
  for (std::size_t rank = 0; rank < plans.size(); ++rank) {
    const Plan& plan = plans[rank];
    if (static_cast<std::size_t>(plan.rank) != rank || plan.ranks != requests[rank].ranks) {
      return defect(plan, "the plan is of another rank or group, but in the place of rank " +
                              std::to_string(rank));
    }
    if (plan.shape != shape_of(requests[rank])) {
      return defect(plan,
                    "the length or position of the input or output differs from the operation's");
    }
  }
  return {};
}

std::size_t size_of(const Plan& plan, PlanBuffer buffer) {
  switch (buffer) {
    case PlanBuffer::kInput:
      return plan.shape.input_count;
    case PlanBuffer::kOutput:
      return plan.shape.output_count;
    case PlanBuffer::kScratch:
      return plan.scratch_count;
  }
  return 0;
}

bool within(const Plan& plan, const Span& span, std::size_t count) {
  const std::size_t size = size_of(plan, span.buffer);
  return span.offset <= size && count <= size - span.offset;
}

// Different elements of one memory, some of them common.
bool half_over(const Access& a, const Access& b) {
  return a.memory == b.memory && a.elements.begin != b.elements.begin &&
         a.elements.begin < b.elements.end && b.elements.begin < a.elements.end;
}

Status check_operands(const Plan& plan, StepId id) {
  const Step& step = plan.steps[id];
  if (plan.contributions.size() != plan.operands.size() ||
      step.first_operand > plan.operands.size() ||
      step.operand_count > plan.operands.size() - step.first_operand) {
    return defect(plan,
                  "step " + std::to_string(id) +
                      ": its operands and their contributions are not within the plan's lists");
  }
  const bool reduces = step.kind == StepKind::kReduce;
  if (reduces ? step.operand_count < 2 : step.operand_count > 0) {
    return defect(plan, id, "has the wrong number of operands for its kind");
  }
  return {};
}

Status check_dependencies(const Plan& plan, StepId id) {
  const Step& step = plan.steps[id];
  if (step.first_dependency > plan.dependencies.size() ||
      step.dependency_count > plan.dependencies.size() - step.first_dependency) {
    return defect(plan, id, "its dependencies are not within the plan's list of dependencies");
  }
  for (const StepId dependency : plan.dependencies_of(step)) {
    if (dependency < id) continue;
    return defect(
        plan, id,
        "depends on step " + std::to_string(dependency) + ", which does not come before it");
  }
  return {};
}

Status check_spans(const Plan& plan, StepId id) {
  const Step& step = plan.steps[id];
  const bool reads = step.kind == StepKind::kSend || step.kind == StepKind::kCopy;
  const bool writes = step.kind != StepKind::kSend;
  bool fits = (!reads || within(plan, step.from, step.count)) &&
              (!writes || within(plan, step.target, step.count));
  for (const Span& operand : plan.operands_of(step)) {
    fits = fits && within(plan, operand, step.count);
  }
  if (!fits) return defect(plan, id, "reaches beyond the end of a buffer");
  if (!writes) return {};
  if (step.target.buffer == PlanBuffer::kInput) return defect(plan, id, "writes the input");
  const std::vector<Access> accesses = accesses_of(plan, step);
  for (const Access& access : accesses) {
    if (half_over(access, accesses.back()))
      return defect(plan, id, "overwrites a part of the elements that it reads");
  }
  return {};
}

Status check_structure(const Plan& plan) {
  for (StepId id = 0; id < plan.steps.size(); ++id) {
    PACELINE_TRY(check_operands(plan, id));
    const Step& step = plan.steps[id];
    const bool message = step.kind == StepKind::kSend || step.kind == StepKind::kRecv;
    if (message && (step.peer < 0 || step.peer >= plan.ranks)) {
      return defect(plan, id, "the peer does not exist");
    }
    if (message && step.peer == plan.rank) return defect(plan, id, "the peer is the rank itself");
    PACELINE_TRY(check_dependencies(plan, id));
    PACELINE_TRY(check_spans(plan, id));
  }
  return {};
}

}  // namespace

Status check(std::span<const Plan> plans, const std::vector<PlanRequest>& requests) {
  PACELINE_TRY(check_shape(plans, requests));
  for (const Plan& plan : plans) {
    PACELINE_TRY(check_structure(plan));
    PACELINE_TRY(check_races(plan));
  }
  PACELINE_TRY_ASSIGN(const Partners partners, match(plans));
  PACELINE_TRY_ASSIGN(const std::vector<StepRef> order, rendezvous_order(plans, partners));
  if (requests.front().kind == OperationKind::kBarrier)
    return check_barrier(plans, partners, order);
  PACELINE_TRY(check_values(plans, requests, partners, order, Placement::kOutOfPlace));
  return check_values(plans, requests, partners, order, Placement::kInPlace);
}

Status check(std::span<const Plan> plans, const PlanRequest& request) {
  return check(plans, requests_of(request));
}

Status check_rank_order(std::span<const Plan> plans, const std::vector<PlanRequest>& requests) {
  if (!reduces(requests.front().kind)) return {};
  PACELINE_TRY_ASSIGN(const Partners partners, match(plans));
  PACELINE_TRY_ASSIGN(const std::vector<StepRef> order, rendezvous_order(plans, partners));
  return check_values(plans, requests, partners, order, Placement::kOutOfPlace, Order::kOfRanks);
}

}  // namespace paceline
