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

struct Prediction {
  const Algorithm* algorithm;
  double ns;
};

// The choice between the rows of the table for one request.
class Choice {
 public:
  /// Borrows the request and the options.
  Choice(const PlanRequest& request, std::size_t element_bytes, const SelectOptions& options)
      : request_(request),
        element_bytes_(element_bytes),
        options_(options),
        shares_hosts_(share_hosts(request)) {
    for (const Algorithm& row : algorithms())
      if (row.kind == request.kind && may_be(row, options) && (shares_hosts_ || !row.knows_hosts))
        rows_.push_back(&row);
    PACELINE_ASSERT(!rows_.empty());
  }

  /// The rows that may be taken, in the order of the table.
  const std::vector<const Algorithm*>& rows() const { return rows_; }

  /// The fastest row first; among equals, the first in the table.
  std::vector<Prediction> predictions() const {
    std::vector<Prediction> all;
    for (const Algorithm* const row : rows_) all.push_back({row, ns(row->cost(request_))});
    std::ranges::stable_sort(all, {}, &Prediction::ns);
    return all;
  }

 private:
  double ns(const Cost& cost) const {
    if (!shares_hosts_)
      return predicted_ns(cost, element_bytes_,
                          request_.hosts == nullptr ? options_.model : options_.between_hosts);
    const auto far = static_cast<double>(cost.count_between_hosts * element_bytes_);
    const auto all = static_cast<double>(cost.count_sent * element_bytes_);
    return static_cast<double>(cost.rounds) * options_.between_hosts.alpha_ns +
           static_cast<double>(cost.messages) * options_.model.alpha_ns +
           std::max(far * options_.between_hosts.beta_ns_per_byte,
                    all * options_.model.beta_ns_per_byte);
  }

  const PlanRequest& request_;
  const std::size_t element_bytes_;
  const SelectOptions& options_;
  const bool shares_hosts_;
  std::vector<const Algorithm*> rows_;
};

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
  if (const Algorithm* const row = find_algorithm(request.kind, options.forced)) return row;
  const Choice choice(request, element_bytes, options);
  // Costs take a walk over all ranks at least. They are computed only to be compared.
  if (choice.rows().size() == 1) return choice.rows().front();
  return choice.predictions().front().algorithm;
}

std::string predictions(const PlanRequest& request, std::size_t element_bytes,
                        const SelectOptions& options) {
  std::string text;
  for (const Prediction& one : Choice(request, element_bytes, options).predictions()) {
    char time[32];
    std::snprintf(time, sizeof time, " %.3f ms", one.ns / 1e6);
    text.append(text.empty() ? "" : ", ").append(one.algorithm->name).append(time);
  }
  return text;
}

}  // namespace paceline
