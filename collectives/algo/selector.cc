#include "collectives/algo/selector.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

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

bool share_hosts(const PlanRequest& request) {
  return request.hosts != nullptr && *std::ranges::max_element(*request.hosts) + 1 < request.ranks;
}

double predicted_ns(const Algorithm& algorithm, const PlanRequest& request,
                    std::size_t element_bytes, const SelectOptions& options) {
  const Cost cost = algorithm.cost(request);
  if (!share_hosts(request)) return predicted_ns(cost, element_bytes, options.model);
  const auto far = static_cast<double>(cost.count_between_hosts * element_bytes);
  const auto all = static_cast<double>(cost.count_sent * element_bytes);
  return static_cast<double>(cost.rounds) * options.between_hosts.alpha_ns +
         static_cast<double>(cost.messages) * options.model.alpha_ns +
         std::max(far * options.between_hosts.beta_ns_per_byte,
                  all * options.model.beta_ns_per_byte);
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
  std::vector<const Algorithm*> candidates;
  bool known = options.forced.empty();
  for (const Algorithm& algorithm : algorithms()) {
    const bool named = !options.forced.empty() && algorithm.name == options.forced;
    known = known || named;
    if (algorithm.kind != request.kind) continue;
    const bool may = may_be(algorithm, options);
    if (named && !may) return out_of_order(algorithm);
    if (named) return &algorithm;
    if (may && (!algorithm.knows_hosts || share_hosts(request))) candidates.push_back(&algorithm);
  }
  if (!known) return unknown(options.forced);
  PACELINE_ASSERT(!candidates.empty());
  if (candidates.size() == 1) return candidates.front();
  const Algorithm* fastest = nullptr;
  double least_ns = std::numeric_limits<double>::infinity();
  for (const Algorithm* const algorithm : candidates) {
    const double ns = predicted_ns(*algorithm, request, element_bytes, options);
    if (fastest == nullptr || ns < least_ns) {
      fastest = algorithm;
      least_ns = ns;
    }
  }
  return fastest;
}

}  // namespace paceline
