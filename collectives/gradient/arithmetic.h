// Arithmetic on the elements of a bucket before and after its reduction.
#pragma once

#include <cstddef>
#include <cstdint>

#include <paceline/types.h>

namespace paceline {

/// True if no element is NaN or infinite. `type` is a type that gradients may have.
bool are_finite(DataType type, const std::byte* elements, std::size_t count);

struct FinishOrders {
  std::uint64_t multiplier = 1;  ///< more than 1 for float16 only
  std::uint64_t divisor = 1;     ///< as in Division of reduce/kernels.h: the same bits
  bool finds_overflow = false;
  bool sums_squares = false;
};
struct Finished {
  bool is_finite = true;      ///< if looked for
  double sum_of_squares = 0;  ///< if asked for, of the results
};
/// In one pass: multiplies and divides, looks for NaN and infinity, and sums the squares in
/// float64.
Finished finish_elements(DataType type, std::byte* elements, std::size_t count,
                         const FinishOrders& orders);

}  // namespace paceline
