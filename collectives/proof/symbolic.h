// Values as expressions over the ranks' inputs, for whole ranges of elements at once.
//
//   Expression   a tree of inputs and reduces, written once and known by its number: two elements
//                with equal numbers were computed by the same reduces, of as many operands in the
//                same order, so their bits are equal
//   Symbol       what an element at offset o of a buffer holds: the expression read at o + shift
//   Term         how often a rank's input at some distance contributes to an expression
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace paceline {

using ExpressionId = std::uint32_t;

struct Symbol {
  ExpressionId expression = 0;
  std::int64_t shift = 0;

  Symbol shifted(std::int64_t by) const { return {expression, shift + by}; }
  bool operator==(const Symbol&) const = default;
};

struct Term {
  int rank = 0;
  std::int64_t shift = 0;
  std::uint64_t times = 0;

  bool operator==(const Term&) const = default;
};

class Expressions {
 public:
  explicit Expressions(int ranks);

  /// The rank's input, element for element.
  Symbol input(int rank) const { return {static_cast<ExpressionId>(rank), 0}; }
  /// All in one reduce, in this order; at least one.
  Symbol reduce(std::span<const Symbol> operands);
  /// Sorted by rank and shift; shifts are relative to the Symbol's own.
  std::span<const Term> terms(ExpressionId id) const { return terms_[id]; }

 private:
  using Node = std::vector<Symbol>;  // the operands, shifts relative to the first one's
  struct Hash {
    std::size_t operator()(const Node& node) const;
  };

  std::vector<Term> sum_of(const Node& node) const;

  std::vector<std::vector<Term>> terms_;  // by expression
  std::unordered_map<Node, ExpressionId, Hash> known_;
};

}  // namespace paceline
