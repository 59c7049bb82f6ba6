#include "collectives/algo/selector.h"

#include <algorithm>
#include <limits>
#include <string>

#include "comm/base/assert.h"

namespace paceline {
namespace {

Status unknown(std::string_view forced) {
  std::string names;
  for (const Algorithm& algorithm : algorithms()) {
    if (!names.empty()) names += ", ";
    names.append(algorithm.name).append(" (").append(name(algorithm.kind)).append(")");
  }
  return Status(
      Code::kInvalidArgument, Scope::kNone,
      "no operation has an algorithm \"" + std::string(forced) + "\"; use one of " + names);
}

Status out_of_order(const Algorithm& algorithm) {
  return Status(Code::kInvalidArgument, Scope::kNone,
                "algorithm \"" + std::string(algorithm.name) + "\" of " +
                    std::string(name(algorithm.kind)) +
                    " does not reduce in the order of the ranks, which placement_stable requires");
}

bool may_be(const Algorithm& algorithm, const SelectOptions& options) {
  return !options.in_rank_order || !reduces(algorithm.kind) || algorithm.in_rank_order;
}

}  // namespace

Status check_forced(const SelectOptions& options) {
  bool known = options.forced.empty();
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.name != options.forced) continue;
    known = true;
    if (!may_be(algorithm, options)) return out_of_order(algorithm);
  }
  return known ? Status() : unknown(options.forced);
}

double predicted_ns(const Cost& cost, std::size_t element_bytes, const PathModel& model) {
  const double bytes = static_cast<double>(cost.count_sent) * static_cast<double>(element_bytes);
  const std::size_t messages = std::max(cost.rounds, cost.messages);
  return static_cast<double>(messages) * model.alpha_ns + bytes * model.beta_ns_per_byte;
}

Result<const Algorithm*> select(const PlanRequest& request, std::size_t element_bytes,
                                const SelectOptions& options) {
  const Algorithm* fastest = nullptr;
  double least_ns = std::numeric_limits<double>::infinity();
  bool known = options.forced.empty();
  for (const Algorithm& algorithm : algorithms()) {
    const bool named = !options.forced.empty() && algorithm.name == options.forced;
    known = known || named;
    if (algorithm.kind != request.kind) continue;
    if (!may_be(algorithm, options)) {
      if (named) return out_of_order(algorithm);
      continue;
    }
    if (named) return &algorithm;
    const double ns = predicted_ns(algorithm.cost(request), element_bytes, options.model);
    if (fastest == nullptr || ns < least_ns) {
      fastest = &algorithm;
      least_ns = ns;
    }
  }
  if (!known) return unknown(options.forced);
  PACELINE_ASSERT(fastest != nullptr);
  return fastest;
}

}  // namespace paceline
