#include "tests/harness/plan_form.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace paceline::testing {
namespace {

using SpanKey = std::tuple<PlanBuffer, std::size_t>;
// A step in full, then its number: among the messages of its channel, or among equal local steps.
using Key = std::tuple<StepKind, int, std::size_t, SpanKey, std::vector<SpanKey>, std::size_t>;

SpanKey key_of(const Span& span) { return {span.buffer, span.offset}; }

// Steps of one rank in an order that depends on what they are, not on where they stand.
struct Form {
  std::vector<Key> keys;
  std::vector<bool> ordered;  // by pair of places in keys: must one wait for the other?

  bool operator==(const Form&) const = default;
};

std::vector<Span> spans_read(const Plan& plan, const Step& step) {
  if (step.kind == StepKind::kRecv) return {};
  if (step.kind != StepKind::kReduce) return {step.from};
  const auto operands = plan.operands_of(step);
  return {operands.begin(), operands.end()};
}

// Where in the memory that it shares with others a span begins.
std::size_t begin_of(const Plan& plan, const Span& span) {
  if (span.buffer == PlanBuffer::kInput) return span.offset + plan.shape.input_at;
  if (span.buffer == PlanBuffer::kOutput) return span.offset + plan.shape.output_at;
  return span.offset;
}

// Does `a` write what `b` reads or writes?
bool disturbs(const Plan& plan, const Step& a, const Step& b) {
  if (a.kind == StepKind::kSend || a.count == 0 || b.count == 0) return false;
  const auto written = [&](const Span& span) {
    const bool scratch = span.buffer == PlanBuffer::kScratch;
    if (scratch != (a.target.buffer == PlanBuffer::kScratch)) return false;
    const std::size_t here = begin_of(plan, a.target), there = begin_of(plan, span);
    return here < there + b.count && there < here + a.count;
  };
  const std::vector<Span> reads = spans_read(plan, b);
  return std::any_of(reads.begin(), reads.end(), written) ||
         (b.kind != StepKind::kSend && written(b.target));
}

std::vector<Key> keys_of(const Plan& plan) {
  std::map<Key, std::size_t> seen;
  std::vector<Key> keys;
  for (const Step& step : plan.steps) {
    std::vector<SpanKey> reads;
    for (const Span& span : spans_read(plan, step)) reads.push_back(key_of(span));
    const Key full{step.kind, step.peer, step.count, key_of(step.target), reads, 0};
    const Key channel{step.kind, step.peer, 0, {}, {}, 0};
    Key key = full;
    std::get<5>(key) = seen[is_message(step) ? channel : full]++;
    keys.push_back(key);
  }
  return keys;
}

Form form_of(const Plan& plan) {
  const std::size_t size = plan.steps.size();
  std::vector<std::vector<bool>> follows(size, std::vector<bool>(size, false));
  for (std::size_t i = 0; i < size; ++i) {
    for (const StepId before : plan.dependencies_of(plan.steps[i])) {
      for (std::size_t k = 0; k < before; ++k) follows[i][k] = follows[i][k] || follows[before][k];
      follows[i][before] = true;
    }
  }
  const std::vector<Key> keys = keys_of(plan);
  std::vector<std::size_t> places(size);
  for (std::size_t i = 0; i < size; ++i) places[i] = i;
  std::sort(places.begin(), places.end(),
            [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });

  Form form;
  for (const std::size_t i : places) {
    form.keys.push_back(keys[i]);
    for (const std::size_t k : places) {
      const Step& a = plan.steps[i];
      const Step& b = plan.steps[k];
      const bool matters =
          disturbs(plan, a, b) || disturbs(plan, b, a) || (is_message(a) && is_message(b));
      form.ordered.push_back(matters && follows[i][k]);
    }
  }
  return form;
}

}  // namespace

bool is_message(const Step& step) {
  return step.kind == StepKind::kSend || step.kind == StepKind::kRecv;
}

std::vector<PlanRequest> uneven_requests(const PlanRequest& request) {
  std::vector<PlanRequest> requests = requests_of(request);
  if (!has_counts(request.kind)) return requests;
  const bool is_exchange = request.kind == OperationKind::kAllToAllV;
  const auto between = [&](int from, int to) {
    const auto mixed = static_cast<std::size_t>(is_exchange ? 3 * from + 5 * to : 4 * to + 3);
    return request.count * (mixed % 7) / 3;
  };
  for (PlanRequest& own : requests) {
    own.count = 0;
    for (int rank = 0; rank < own.ranks; ++rank) {
      own.counts.push_back(between(own.rank, rank));
      if (is_exchange) own.recv_counts.push_back(between(rank, own.rank));
    }
  }
  return requests;
}

std::size_t count_of_call(const PlanRequest& request, std::size_t count) {
  if (!is_collective(request.kind)) return count;
  if (!has_elements(request.kind)) return 0;
  const auto ranks = static_cast<std::size_t>(request.ranks);
  if (has_counts(request.kind)) return (count + ranks - 1) / ranks;
  PlanRequest one = request;
  one.count = 1;
  one.rank = request.root;
  const Shape shape = shape_of(one);
  const std::size_t blocks = std::max(shape.input_count, shape.output_count);
  return (count + blocks - 1) / blocks;
}

bool is_price(const Cost& formula, const Cost& measured, OperationKind kind) {
  if (kind == OperationKind::kAllToAllV) return true;
  Cost expected = formula;
  if (has_counts(kind)) expected.rounds = std::min(expected.rounds, measured.rounds);
  return expected == measured;
}

bool same_form(std::span<const Plan> a, std::span<const Plan> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Plan& x, const Plan& y) {
    return x == y || form_of(x) == form_of(y);
  });
}

}  // namespace paceline::testing
