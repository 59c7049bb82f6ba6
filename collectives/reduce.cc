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
void apply(T* target, const T* left, const T* right, std::size_t count, Op op) {
  for (std::size_t i = 0; i < count; ++i) target[i] = op(left[i], right[i]);
}

template <class T>
void reduce_typed(ReduceOp op, void* target, const void* left, const void* right,
                  std::size_t count) {
  auto* to = static_cast<T*>(target);
  const auto* a = static_cast<const T*>(left);
  const auto* b = static_cast<const T*>(right);
  switch (op) {
    case ReduceOp::kSum:
      return apply(to, a, b, count, Sum());
    case ReduceOp::kMin:
      return apply(to, a, b, count, Min());
    case ReduceOp::kMax:
      return apply(to, a, b, count, Max());
  }
}

}  // namespace

void reduce(DataType type, ReduceOp op, void* target, const void* left, const void* right,
            std::size_t count) {
  switch (type) {
    case DataType::kFloat32:
      return reduce_typed<float>(op, target, left, right, count);
    case DataType::kFloat64:
      return reduce_typed<double>(op, target, left, right, count);
    case DataType::kInt32:
      return reduce_typed<std::int32_t>(op, target, left, right, count);
    case DataType::kInt64:
      return reduce_typed<std::int64_t>(op, target, left, right, count);
  }
}

}  // namespace paceline
