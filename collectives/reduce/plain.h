// Kernels as loops over single elements.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "collectives/reduce/elements.h"

namespace paceline::reduce {

template <class T>
struct Plain {
  template <class Op>
  static void reduce(void* target, const void* left, const void* right, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      store_element<T>(target, i, Op::of(load_element<T>(left, i), load_element<T>(right, i)));
    }
  }
  template <class Op>
  static void fused(void* target, const void* const* operands, std::size_t operand_count,
                    std::size_t count) {
    fused_from<Op>(target, operands, operand_count, 0, count);
  }
  // Handles the elements in [first, count).
  template <class Op>
  static void fused_from(void* target, const void* const* operands, std::size_t operand_count,
                         std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < count; ++i) {
      Wide<T> total = load_element<T>(operands[0], i);
      for (std::size_t k = 1; k < operand_count; ++k) {
        total = Op::of(total, load_element<T>(operands[k], i));
      }
      store_element<T>(target, i, total);
    }
  }
  static void scale(void* target, const void* source, const void* factor, std::size_t count) {
    const Wide<T> by = load_element<T>(factor, 0);
    for (std::size_t i = 0; i < count; ++i) {
      store_element<T>(target, i, Prod::of(load_element<T>(source, i), by));
    }
  }
  static void weighted_sum(void* target, const void* const* operands, const float* weights,
                           std::size_t operand_count, float divisor, std::size_t count) {
    weighted_sum_from(target, operands, weights, operand_count, divisor, 0, count);
  }
  // Handles the elements in [first, count).
  static void weighted_sum_from(void* target, const void* const* operands, const float* weights,
                                std::size_t operand_count, float divisor, std::size_t first,
                                std::size_t count) {
    for (std::size_t i = first; i < count; ++i) {
      const auto weighted = [&](std::size_t k) {
        return load_element<T>(operands[k], i) * (weights == nullptr ? 1.0f : weights[k]);
      };
      float total = weighted(0);
      for (std::size_t k = 1; k < operand_count; ++k) total += weighted(k);
      store_element<T>(target, i, bounded_float16(total / divisor));
    }
  }
  static void divide(void* target, std::size_t count, std::uint64_t divisor) {
    for (std::size_t i = 0; i < count; ++i) {
      store_element<T>(target, i, quotient(load_element<T>(target, i), divisor));
    }
  }
};

}  // namespace paceline::reduce
