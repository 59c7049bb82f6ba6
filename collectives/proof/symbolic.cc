#include "collectives/proof/symbolic.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace paceline {

Expressions::Expressions(int ranks) {
  for (int rank = 0; rank < ranks; ++rank) terms_.push_back({{rank, 0, 1}});
}

std::size_t Expressions::Hash::operator()(const Node& node) const {
  std::uint64_t mixed = node.size();
  for (const Symbol& operand : node) {
    mixed = (mixed ^ operand.expression ^ static_cast<std::uint64_t>(operand.shift) << 32) *
            0x9E3779B97F4A7C15ull;
    mixed ^= mixed >> 32;
  }
  return static_cast<std::size_t>(mixed);
}

Symbol Expressions::reduce(std::span<const Symbol> operands) {
  const std::int64_t shift = operands.front().shift;
  Node node(operands.begin(), operands.end());
  for (Symbol& operand : node) operand.shift -= shift;
  const auto next = static_cast<ExpressionId>(terms_.size());
  const auto [known, is_new] = known_.try_emplace(std::move(node), next);
  if (is_new) terms_.push_back(sum_of(known->first));
  return {known->second, shift};
}

std::vector<Term> Expressions::sum_of(const Node& node) const {
  const auto before = [](const Term& a, const Term& b) {
    return std::tie(a.rank, a.shift) < std::tie(b.rank, b.shift);
  };
  std::vector<Term> all;
  for (const Symbol& operand : node) {
    for (Term term : terms_[operand.expression]) {
      term.shift += operand.shift;
      all.push_back(term);
    }
  }
  std::sort(all.begin(), all.end(), before);
  std::vector<Term> sum;
  for (const Term& term : all) {
    if (sum.empty() || before(sum.back(), term)) {
      sum.push_back(term);
    } else {
      sum.back().times += term.times;
    }
  }
  return sum;
}

}  // namespace paceline
