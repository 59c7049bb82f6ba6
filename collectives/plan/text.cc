#include "collectives/plan/text.h"

#include <utility>

namespace paceline {
namespace {

std::string text(const Span& span) {
  const auto at = [&](std::string buffer) {
    return buffer.append(std::to_string(span.offset)).append("]");
  };
  switch (span.buffer) {
    case PlanBuffer::kInput:
      return at("input[");
    case PlanBuffer::kOutput:
      return at("output[");
    case PlanBuffer::kScratch:
      return at("scratch[");
  }
  return at("unknown buffer[");
}

Status error(const Plan& plan, std::string sentence) {
  Culprit culprit;
  culprit.rank = plan.rank;
  return Status(Code::kInternal, Scope::kOperation, std::move(sentence), std::move(culprit));
}

}  // namespace

std::string describe(const Plan& plan, const Step& step) {
  const std::string count = std::to_string(step.count);
  const std::string peer = "rank " + std::to_string(step.peer);
  switch (step.kind) {
    case StepKind::kSend:
      return "send " + count + " from " + text(step.from) + " to " + peer;
    case StepKind::kRecv:
      return "recv " + count + " from " + peer + " into " + text(step.target);
    case StepKind::kCopy:
      return "copy " + count + ": " + text(step.target) + " = " + text(step.from);
    case StepKind::kReduce: {
      std::string operands;
      for (const Span& operand : plan.operands_of(step))
        operands += (operands.empty() ? "" : " op ") + text(operand);
      return "reduce " + count + ": " + text(step.target) + " = " + operands;
    }
  }
  return "unknown step";
}

Status defect(const Plan& plan, StepId step, std::string_view what) {
  return error(plan, "rank " + std::to_string(plan.rank) + ", step " + std::to_string(step) + " (" +
                         describe(plan, plan.steps[step]) + "): " + std::string(what));
}

Status defect(const Plan& plan, std::string_view what) {
  return error(plan, "rank " + std::to_string(plan.rank) + ": " + std::string(what));
}

}  // namespace paceline
