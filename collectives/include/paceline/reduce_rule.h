// How the elements of all ranks are combined.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <optional>

#include <paceline/types.h>

namespace paceline {

/// By an op; or as a sum of what each rank has multiplied before by a factor of its own, which is
/// NCCL's PreMulSum. The product is rounded to the type before it is summed, of integers it wraps;
/// it takes one more pass over the input, and, but for all_reduce, memory of its length.
class ReduceRule {
 public:
  /// One element of that type.
  struct Factor {
    DataType type{};
    std::array<std::byte, 8> element{};

    bool operator==(const Factor&) const = default;
  };

  constexpr ReduceRule(ReduceOp op) : op_(op) {}  // an op is a rule
  ReduceRule(const Factor& factor) : op_(ReduceOp::kPreMulSum), factor_(factor) {}

  /// The factor is of the elements' type.
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
