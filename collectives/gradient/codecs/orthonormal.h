// Columns of length one that stand at right angles to each other.
#pragma once

#include <cstddef>
#include <span>

namespace paceline {

/// `columns` of `length` floats each, one behind the other. By the modified Gram-Schmidt process,
/// twice, in float64: the same bits on all processors of a kind. A column that is nearly a sum of
/// those before it, or not finite, becomes zeros. Returns how many did not.
std::size_t make_orthonormal(std::span<float> columns, std::size_t length);

}  // namespace paceline
