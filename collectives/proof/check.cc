#include "collectives/proof/check.h"

#include <string>

#include "collectives/plan/accesses.h"
#include "collectives/plan/text.h"
#include "collectives/proof/matching.h"
#include "collectives/proof/races.h"
#include "collectives/proof/results.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

// Of the set as a whole: as many plans as ranks, each with the buffers that the request has.
Status check_shape(std::span<const Plan> plans, const PlanRequest& request) {
  if (request.ranks < 1 || plans.size() != static_cast<std::size_t>(request.ranks)) {
    return Status(
        Code::kInternal, Scope::kOperation,
        std::to_string(plans.size()) + " plans for " + std::to_string(request.ranks) + " ranks");
  }
  const bool has_data = request.kind != OperationKind::kBarrier;
  for (std::size_t rank = 0; rank < plans.size(); ++rank) {
    const Plan& plan = plans[rank];
    const bool has_input =
        request.kind == OperationKind::kAllReduce || static_cast<std::size_t>(request.root) == rank;
    if (static_cast<std::size_t>(plan.rank) != rank || plan.ranks != request.ranks) {
      return defect(plan, "the plan of another rank or group stands in the place of rank " +
                              std::to_string(rank));
    }
    if (plan.input_count != (has_data && has_input ? request.count : 0) ||
        plan.output_count != (has_data ? request.count : 0)) {
      return defect(plan, "input or output is not as long as the operation's");
    }
  }
  return {};
}

std::size_t size_of(const Plan& plan, PlanBuffer buffer) {
  switch (buffer) {
    case PlanBuffer::kInput:
      return plan.input_count;
    case PlanBuffer::kOutput:
      return plan.output_count;
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
bool half_over(const Span& a, const Span& b, std::size_t count) {
  if (memory_of(a.buffer) != memory_of(b.buffer) || a.offset == b.offset) return false;
  return (a.offset < b.offset ? b.offset - a.offset : a.offset - b.offset) < count;
}

Status check_dependencies(const Plan& plan, StepId id) {
  const Step& step = plan.steps[id];
  if (step.first_dependency > plan.dependencies.size() ||
      step.dependency_count > plan.dependencies.size() - step.first_dependency) {
    return defect(plan, id, "its list of dependencies does not lie within the plan's");
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
  const bool reads = step.kind != StepKind::kRecv;
  const bool reduces = step.kind == StepKind::kReduce;
  const bool writes = step.kind != StepKind::kSend;
  if ((reads && !within(plan, step.left, step.count)) ||
      (reduces && !within(plan, step.right, step.count)) ||
      (writes && !within(plan, step.target, step.count))) {
    return defect(plan, id, "reaches beyond the end of a buffer");
  }
  if (writes && step.target.buffer == PlanBuffer::kInput) {
    return defect(plan, id, "writes the input");
  }
  if (writes && ((reads && half_over(step.target, step.left, step.count)) ||
                 (reduces && half_over(step.target, step.right, step.count)))) {
    return defect(plan, id, "writes over a part of what it reads");
  }
  return {};
}

Status check_structure(const Plan& plan) {
  for (StepId id = 0; id < plan.steps.size(); ++id) {
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

Status check(std::span<const Plan> plans, const PlanRequest& request) {
  PACELINE_TRY(check_shape(plans, request));
  for (const Plan& plan : plans) {
    PACELINE_TRY(check_structure(plan));
    PACELINE_TRY(check_races(plan));
  }
  PACELINE_TRY_ASSIGN(const Partners partners, match(plans));
  PACELINE_TRY_ASSIGN(const std::vector<StepRef> order, rendezvous_order(plans, partners));
  if (request.kind == OperationKind::kBarrier) return check_barrier(plans, partners, order);
  PACELINE_TRY(check_values(plans, request, partners, order, Placement::kOutOfPlace));
  return check_values(plans, request, partners, order, Placement::kInPlace);
}

}  // namespace paceline
