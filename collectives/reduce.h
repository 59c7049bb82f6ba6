// Element-wise reduction on the host.
#pragma once

#include <cstddef>

#include <paceline/types.h>

namespace paceline {

/// As reduce() of one type and op, for those who look it up before it is urgent.
using Reduction = void (*)(void* target, const void* left, const void* right, std::size_t count);
Reduction reduction_of(DataType type, ReduceOp op);

/// target[i] = left[i] op right[i] for i in [0, count). `target` may be `left` or `right`, not
/// overlap them in part; all are aligned for the type. Integer sums wrap. The minimum and maximum
/// of floats take the right operand where either is NaN or both are equal.
void reduce(DataType type, ReduceOp op, void* target, const void* left, const void* right,
            std::size_t count);

}  // namespace paceline
