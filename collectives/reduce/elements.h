// What an operation makes of single elements: the definition that every kernel follows.
//
// The 16-bit floating-point types are widened to float, and a result is rounded once, however many
// operands it has (DESIGN: one local reduction). Integers wrap.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <paceline/types.h>

namespace paceline::reduce {

/// The type in which elements of type T are combined.
template <class T>
struct WideOf {
  using type = T;
};
template <>
struct WideOf<Float16> {
  using type = float;
};
template <>
struct WideOf<BFloat16> {
  using type = float;
};
template <class T>
using Wide = typename WideOf<T>::type;

/// Elements need not be aligned for their type.
template <class T>
Wide<T> load_element(const void* base, std::size_t index) {
  T element;
  std::memcpy(&element, static_cast<const std::byte*>(base) + index * sizeof(T), sizeof(T));
  if constexpr (std::is_arithmetic_v<T>) {
    return element;
  } else {
    return element.to_float();
  }
}

template <class T>
void store_element(void* base, std::size_t index, Wide<T> value) {
  T element;
  if constexpr (std::is_arithmetic_v<T>) {
    element = value;
  } else {
    element = T(value);
  }
  std::memcpy(static_cast<std::byte*>(base) + index * sizeof(T), &element, sizeof(T));
}

// Without the overflow that the language leaves undefined, of a type narrower than int too.
template <class T, class Operation>
T wrapped(T left, T right, Operation operation) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(
        operation(static_cast<std::uint64_t>(left), static_cast<std::uint64_t>(right)));
  } else {
    return operation(left, right);
  }
}

struct Sum {
  template <class T>
  static T of(T left, T right) {
    return wrapped(left, right, [](auto a, auto b) { return a + b; });
  }
};
struct Prod {
  template <class T>
  static T of(T left, T right) {
    return wrapped(left, right, [](auto a, auto b) { return a * b; });
  }
};
// Minimum and maximum of IEEE 754-2019: a NaN of either operand is kept, -0 is less than +0. Every
// NaN becomes the same one, so that the bits do not depend on the order of the operands.
struct Min {
  template <class T>
  static T of(T left, T right) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isunordered(left, right)) return std::numeric_limits<T>::quiet_NaN();
      if (left == right) return std::signbit(left) ? left : right;
    }
    return left < right ? left : right;
  }
};
struct Max {
  template <class T>
  static T of(T left, T right) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isunordered(left, right)) return std::numeric_limits<T>::quiet_NaN();
      if (left == right) return std::signbit(left) ? right : left;
    }
    return left > right ? left : right;
  }
};

/// use(Sum{}) for a sum, and so on. An average, and what has been multiplied, is reduced as a sum.
template <class Use>
void with_op(ReduceOp op, const Use& use) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAvg:
    case ReduceOp::kPreMulSum:
      return use(Sum{});
    case ReduceOp::kProd:
      return use(Prod{});
    case ReduceOp::kMin:
      return use(Min{});
    case ReduceOp::kMax:
      return use(Max{});
  }
}

/// Rounded to nearest; of integers, towards zero.
template <class T>
T quotient(T value, std::uint64_t divisor) {
  if constexpr (std::is_floating_point_v<T>) {
    return value / static_cast<T>(divisor);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(static_cast<std::int64_t>(value) / static_cast<std::int64_t>(divisor));
  } else {
    return static_cast<T>(value / divisor);
  }
}

/// The largest finite number.
inline constexpr float kLargestFloat16 = 65504.0f;
/// An average lies between its values, though rounding may carry it beyond the largest. Infinity
/// and NaN stay.
inline float bounded_float16(float average) {
  return std::isfinite(average) ? std::clamp(average, -kLargestFloat16, kLargestFloat16) : average;
}

}  // namespace paceline::reduce
