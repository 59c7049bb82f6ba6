#include "collectives/proof/symbolic.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace paceline {

Expressions::Expressions(int ranks) {
  for (int rank = 0; rank < ranks; ++rank) terms_.push_back({{rank, 0, 1}});
}

std::size_t Expressions::Hash::operator()(const Node& node) const {
  const std::uint64_t operands = (std::uint64_t{node.left} << 32) | node.right;
  const std::uint64_t mixed =
      (operands ^ static_cast<std::uint64_t>(node.right_shift)) * 0x9E3779B97F4A7C15ull;
  return static_cast<std::size_t>(mixed ^ (mixed >> 32));
}

Symbol Expressions::reduce(const Symbol& left, const Symbol& right) {
  const Node node{left.expression, right.expression, right.shift - left.shift};
  const auto next = static_cast<ExpressionId>(terms_.size());
  const auto [known, is_new] = known_.try_emplace(node, next);
  if (is_new) {
    std::vector<Term> sum = terms_[node.left];
    for (Term term : terms_[node.right]) {
      term.shift += node.right_shift;
      const auto place =
          std::lower_bound(sum.begin(), sum.end(), term, [](const Term& a, const Term& b) {
            return std::tie(a.rank, a.shift) < std::tie(b.rank, b.shift);
          });
      if (place != sum.end() && place->rank == term.rank && place->shift == term.shift) {
        place->times += term.times;
      } else {
        sum.insert(place, term);
      }
    }
    terms_.push_back(std::move(sum));
  }
  return {known->second, left.shift};
}

}  // namespace paceline
