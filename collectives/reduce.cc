#include "collectives/reduce.h"

#include <cstdint>
#include <type_traits>

namespace paceline {
namespace {

struct Sum {
  template <class T>
  T operator()(T left, T right) const {
    if constexpr (std::is_integral_v<T>) {
      using Unsigned = std::make_unsigned_t<T>;  // signed overflow would be undefined
      return static_cast<T>(static_cast<Unsigned>(left) + static_cast<Unsigned>(right));
    } else {
      return left + right;
    }
  }
};
struct Min {
  template <class T>
  T operator()(T left, T right) const {
    return left < right ? left : right;
  }
};
struct Max {
  template <class T>
  T operator()(T left, T right) const {
    return left > right ? left : right;
  }
};

template <class T, class Op>
[[gnu::always_inline]] inline void apply(void* target, const void* left, const void* right,
                                         std::size_t count) {
  auto* to = static_cast<T*>(target);
  const auto* a = static_cast<const T*>(left);
  const auto* b = static_cast<const T*>(right);
  // The target is one of the operands or apart from them: no element depends on another.
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) to[i] = Op()(a[i], b[i]);
}

template <class T, class Op>
void apply_plain(void* target, const void* left, const void* right, std::size_t count) {
  apply<T, Op>(target, left, right, count);
}

template <class T, class Op>
[[gnu::target("avx2")]] void apply_wide(void* target, const void* left, const void* right,
                                        std::size_t count) {
  apply<T, Op>(target, left, right, count);
}

// The same bits either way: no element meets another.
const bool is_wide = __builtin_cpu_supports("avx2") != 0;

template <class T, class Op>
Reduction reduction_of() {
  return is_wide ? apply_wide<T, Op> : apply_plain<T, Op>;
}

template <class T>
Reduction reduction_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return reduction_of<T, Sum>();
    case ReduceOp::kMin:
      return reduction_of<T, Min>();
    case ReduceOp::kMax:
      return reduction_of<T, Max>();
  }
  return nullptr;
}

}  // namespace

Reduction reduction_of(DataType type, ReduceOp op) {
  switch (type) {
    case DataType::kFloat32:
      return reduction_of<float>(op);
    case DataType::kFloat64:
      return reduction_of<double>(op);
    case DataType::kInt32:
      return reduction_of<std::int32_t>(op);
    case DataType::kInt64:
      return reduction_of<std::int64_t>(op);
  }
  return nullptr;
}

void reduce(DataType type, ReduceOp op, void* target, const void* left, const void* right,
            std::size_t count) {
  reduction_of(type, op)(target, left, right, count);
}

}  // namespace paceline
