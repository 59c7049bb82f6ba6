#include "collectives/algo/selector.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "comm/base/assert.h"
#include "comm/base/try.h"

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
  if (!share_hosts(request))
    return predicted_ns(cost, element_bytes,
                        request.hosts == nullptr ? options.model : options.between_hosts);
  const auto far = static_cast<double>(cost.count_between_hosts * element_bytes);
  const auto all = static_cast<double>(cost.count_sent * element_bytes);
  return static_cast<double>(cost.rounds) * options.between_hosts.alpha_ns +
         static_cast<double>(cost.messages) * options.model.alpha_ns +
         std::max(far * options.between_hosts.beta_ns_per_byte,
                  all * options.model.beta_ns_per_byte);
}

struct Candidate {
  const Algorithm* algorithm;
  double ns;
};

// At least one; the fastest first, and among equals the first in the table.
std::vector<Candidate> candidates(const PlanRequest& request, std::size_t element_bytes,
                                  const SelectOptions& options) {
  std::vector<Candidate> all;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.kind != request.kind || !may_be(algorithm, options)) continue;
    if (algorithm.knows_hosts && !share_hosts(request)) continue;
    all.push_back({&algorithm, predicted_ns(algorithm, request, element_bytes, options)});
  }
  PACELINE_ASSERT(!all.empty());
  std::ranges::stable_sort(all, {}, &Candidate::ns);
  return all;
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
  PACELINE_TRY(check_forced(options));
  for (const Algorithm& algorithm : algorithms())
    if (algorithm.kind == request.kind && algorithm.name == options.forced) return &algorithm;
  return candidates(request, element_bytes, options).front().algorithm;
}

std::string predictions(const PlanRequest& request, std::size_t element_bytes,
                        const SelectOptions& options) {
  std::string text;
  for (const Candidate& one : candidates(request, element_bytes, options)) {
    char time[32];
    std::snprintf(time, sizeof time, " %.3f ms", one.ns / 1e6);
    text.append(text.empty() ? "" : ", ").append(one.algorithm->name).append(time);
  }
  return text;
}

}  // namespace paceline
