// Disagreements of every kind.

#include <algorithm>
#include <utility>

#include "tests/sim/scenario.h"

namespace paceline::testing {
namespace {

// Of any kind but close() for which `fits` holds.
template <class Fits>
Call call_of(std::size_t count, int root, const Fits& fits, Random& random) {
  OperationKind kind = OperationKind::kClose;
  while (kind == OperationKind::kClose || !is_of_all(kind) || !fits(kind))
    kind = kOperationKinds[random.below(std::size(kOperationKinds))];
  Call call{.kind = kind};
  if (moves_elements(kind)) call.count = count, call.type = DataType::kFloat64;
  if (has_root(kind)) call.root = root;
  return call;
}

// What all call and what some call instead: one of the first, one of the others.
struct Pair {
  Call most;
  Call some;
};

Pair of_kind(int root, Random& random) {
  const Call most = call_of(
      100, root, [](OperationKind) { return true; }, random);
  const auto is_other = [&](OperationKind kind) { return kind != most.kind; };
  return {most, call_of(100, root, is_other, random)};
}

Pair of_type(Call most, Random& random) {
  Call some = most;
  // Of the same size, so that no length gives it away, or of another.
  some.type = random.chance(0.5) ? DataType::kInt64 : DataType::kInt32;
  return {most, some};
}

Pair pair_of(Difference difference, int ranks, Random& random) {
  const auto below_ranks = [&] {
    return static_cast<int>(random.below(static_cast<std::uint64_t>(ranks)));
  };
  const int root = below_ranks();
  const std::size_t count = random.chance(0.2) ? 0 : 1 + random.below(150);
  const Call most = call_of(count, root, moves_elements, random);
  Pair pair{most, most};
  switch (difference) {
    case Difference::kKind:
      return of_kind(root, random);
    case Difference::kType:
      return of_type(most, random);
    case Difference::kCount:
      pair.most.count = 1 + count;
      pair.some.count = pair.most.count + 1 + random.below(50);
      if (random.chance(0.5)) std::swap(pair.most, pair.some);
      break;
    case Difference::kOp:
      pair.most = pair.some = call_of(count, root, reduces, random);
      pair.some.op = random.chance(0.5) ? ReduceOp::kMax : ReduceOp::kMin;
      break;
    case Difference::kRoot:
      pair.most = pair.some = call_of(count, root, has_root, random);
      pair.some.root =
          (root + 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(ranks - 1)))) %
          ranks;
      break;
    case Difference::kZeroCount:
      pair.most.count = 1 + count;
      pair.some.count = 0;
      if (random.chance(0.5)) std::swap(pair.most, pair.some);
      break;
    case Difference::kOrder:
    case Difference::kOneFewer:
      break;
  }
  return pair;
}

std::vector<int> pick_deviants(int ranks, Random& random) {
  const auto count = static_cast<std::uint64_t>(ranks);
  std::vector<int> deviants = {static_cast<int>(random.below(count))};
  while (random.chance(0.3) && static_cast<int>(deviants.size()) < ranks - 1) {
    const int another = static_cast<int>(random.below(count));
    if (std::ranges::count(deviants, another) == 0) deviants.push_back(another);
  }
  std::ranges::sort(deviants);
  return deviants;
}

}  // namespace

const char* name(Difference difference) {
  switch (difference) {
    case Difference::kKind:
      return "kind";
    case Difference::kCount:
      return "count";
    case Difference::kType:
      return "type";
    case Difference::kOp:
      return "op";
    case Difference::kRoot:
      return "root";
    case Difference::kOrder:
      return "order";
    case Difference::kOneFewer:
      return "one_fewer";
    case Difference::kZeroCount:
      return "zero_count";
  }
  return "unknown";
}

void place_disagreement(Scenario& scenario, Difference difference, Random& random) {
  std::vector<Call>& calls = scenario.calls;
  // The last call as often as not: then only close() is left to find out.
  const std::size_t last = calls.size() - 1;
  const std::size_t index = random.chance(0.5) ? last : random.below(calls.size());
  const Pair pair = pair_of(difference, scenario.ranks, random);
  Deviation deviation{.ranks = pick_deviants(scenario.ranks, random), .index = index};
  if (difference == Difference::kOrder) {
    const Pair kinds = of_kind(deviation.ranks.front(), random);
    calls[index] = kinds.most;
    calls.insert(calls.begin() + static_cast<std::ptrdiff_t>(index), kinds.some);
    deviation.kind = Deviation::Kind::kSwap;
  } else if (difference != Difference::kOneFewer) {
    calls[index] = pair.most;
    deviation.kind = Deviation::Kind::kReplace;
    deviation.call = pair.some;
  }
  scenario.deviations = {deviation};
}

}  // namespace paceline::testing
