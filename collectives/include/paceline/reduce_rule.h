// How a reduction combines the elements of all ranks.
//
// Example:
//   const float weight = 1.0f / static_cast<float>(world.size());
//   const auto rule = paceline::ReduceRule::pre_multiplied_sum(weight);  // may differ by rank
//   world.all_reduce(std::span(gradients), rule).value();
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <optional>

#include <paceline/types.h>

namespace paceline {

/// A value: a ReduceOp, or a sum in which each rank first multiplies its elements by its own factor
/// (NCCL's PreMulSum). Products round to the element type before the sum; integer products wrap.
/// This sum costs one more pass over the input and, except in all_reduce, memory for a copy.
class ReduceRule {
 public:
  /// One element of `type`, in the first bytes of `element`.
  struct Factor {
    DataType type{};
    std::array<std::byte, 8> element{};

    bool operator==(const Factor&) const = default;
  };

  constexpr ReduceRule(ReduceOp op) : op_(op) {}  ///< implicit: an op is a rule
  ReduceRule(const Factor& factor) : op_(ReduceOp::kPreMulSum), factor_(factor) {}

  /// T must be the type of the elements: else the operation fails with Code::kInvalidArgument.
  template <class T>
  static ReduceRule pre_multiplied_sum(T factor) {
    static_assert(sizeof(T) <= sizeof(Factor::element));
    Factor one{.type = kDataTypeOf<T>};
    std::memcpy(one.element.data(), &factor, sizeof(T));
    return one;
  }

  ReduceOp op() const { return op_; }
  const std::optional<Factor>& factor() const { return factor_; }
  bool operator==(const ReduceRule&) const = default;

 private:
  ReduceOp op_;
  std::optional<Factor> factor_;
};

}  // namespace paceline
