// Element-wise reduction on the host.
//
// Of everything here: elements may lie anywhere, aligned for their type or not. The target is one
// of the operands or apart from all of them, and never overlaps one in part. The bits do not depend
// on the processor (collectives/reduce/elements.h), but for which NaN comes of NaNs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

#include <paceline/types.h>

namespace paceline {

/// target[i] = left[i] op right[i] for i in [0, count).
using Reduction = void (*)(void* target, const void* left, const void* right, std::size_t count);
/// target[i] = operands[0][i] op … op operands[operand_count - 1][i], from left to right, rounded
/// once. At least one operand.
using FusedReduction = void (*)(void* target, const void* const* operands,
                                std::size_t operand_count, std::size_t count);
/// target[i] = source[i] × factor, which is one element of the type.
using Scaling = void (*)(void* target, const void* source, const void* factor, std::size_t count);
/// target[i] = target[i] ÷ divisor: what makes an average of a sum.
using Division = void (*)(void* target, std::size_t count, std::uint64_t divisor);
/// target[i] = (operands[0][i] × weights[0] + …) ÷ divisor, from left to right, rounded once. At
/// least one operand. Weights are powers of two; null: 1. A finite quotient that exceeds the
/// largest number of the type becomes that number.
using WeightedSum = void (*)(void* target, const void* const* operands, const float* weights,
                             std::size_t operand_count, float divisor, std::size_t count);

/// Of one data type. An average, and what has been multiplied, is reduced as a sum.
struct Kernels {
  std::array<Reduction, std::size(kReduceOps)> reduce{};
  std::array<FusedReduction, std::size(kReduceOps)> reduce_fused{};
  Scaling scale = nullptr;
  Division divide = nullptr;
  /// For float16, whose sums overflow though the average does not. Other types have none: null.
  WeightedSum weighted_sum = nullptr;

  Reduction reduction(ReduceOp op) const { return reduce[static_cast<std::size_t>(op)]; }
  FusedReduction fused(ReduceOp op) const { return reduce_fused[static_cast<std::size_t>(op)]; }
  /// As the fused reduction, by the one of two operands where there are two: the same bits, sooner.
  void reduce_all(ReduceOp op, void* target, std::span<const void* const> operands,
                  std::size_t count) const {
    if (operands.size() == 2) return reduction(op)(target, operands[0], operands[1], count);
    fused(op)(target, operands.data(), operands.size(), count);
  }
  /// The average of all operands.
  void average_all(void* target, std::span<const void* const> operands, std::size_t count) const {
    const std::size_t all = operands.size();
    if (weighted_sum != nullptr)
      return weighted_sum(target, operands.data(), nullptr, all, static_cast<float>(all), count);
    reduce_all(ReduceOp::kSum, target, operands, count);
    divide(target, count, all);
  }
};

struct KernelSet {
  std::array<Kernels, std::size(kDataTypes)> by_type{};

  const Kernels& of(DataType type) const { return by_type[static_cast<std::size_t>(type)]; }
};

/// Loops over single elements: what the others are compared with, and what runs where there is
/// nothing better.
const KernelSet& plain_kernels();
/// The fastest that this processor can run.
const KernelSet& kernels();

}  // namespace paceline
