#include "tests/harness/plan_form.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace paceline::testing {
namespace {

using SpanKey = std::tuple<PlanBuffer, std::size_t>;
// A step in full, then its number: among the messages of its channel, or among equal local steps.
using Key = std::tuple<StepKind, int, std::size_t, SpanKey, SpanKey, SpanKey, std::size_t>;

bool is_message(const Step& step) {
  return step.kind == StepKind::kSend || step.kind == StepKind::kRecv;
}

SpanKey key_of(const Span& span) { return {span.buffer, span.offset}; }

// Steps of one rank in an order that depends on what they are, not on where they stand.
struct Form {
  std::vector<Key> keys;
  std::vector<bool> ordered;  // by pair of places in keys: must one wait for the other?

  bool operator==(const Form&) const = default;
};

bool touch(const Span& a, std::size_t a_count, const Span& b, std::size_t b_count) {
  const bool a_scratch = a.buffer == PlanBuffer::kScratch;
  const bool b_scratch = b.buffer == PlanBuffer::kScratch;
  return a_scratch == b_scratch && a.offset < b.offset + b_count && b.offset < a.offset + a_count;
}

// Does `a` write what `b` reads or writes?
bool disturbs(const Step& a, const Step& b) {
  if (a.kind == StepKind::kSend || a.count == 0 || b.count == 0) return false;
  const auto written = [&](const Span& span) { return touch(a.target, a.count, span, b.count); };
  return (b.kind != StepKind::kRecv && written(b.left)) ||
         (b.kind == StepKind::kReduce && written(b.right)) ||
         (b.kind != StepKind::kSend && written(b.target));
}

std::vector<Key> keys_of(const Plan& plan) {
  std::map<Key, std::size_t> seen;
  std::vector<Key> keys;
  for (const Step& step : plan.steps) {
    const Key full{step.kind,         step.peer,          step.count, key_of(step.target),
                   key_of(step.left), key_of(step.right), 0};
    const Key channel{step.kind, step.peer, 0, {}, {}, {}, 0};
    Key key = full;
    std::get<6>(key) = seen[is_message(step) ? channel : full]++;
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
      const bool matters = disturbs(a, b) || disturbs(b, a) || (is_message(a) && is_message(b));
      form.ordered.push_back(matters && follows[i][k]);
    }
  }
  return form;
}

}  // namespace

bool same_form(std::span<const Plan> a, std::span<const Plan> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Plan& x, const Plan& y) {
    return x == y || form_of(x) == form_of(y);
  });
}

}  // namespace paceline::testing
