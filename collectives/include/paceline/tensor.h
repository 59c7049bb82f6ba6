// One of the arrays that Communicator::all_reduce_many() reduces.
//
// Example:
//   float weight[9] = {}, bias[3] = {};
//   const paceline::Tensor tensors[] = {{weight, weight, 9}, {bias, bias, 3}};
//   world.all_reduce_many(tensors, paceline::DataType::kFloat32).value();
#pragma once

#include <cstddef>

namespace paceline {

/// Two arrays of `count` elements, with any alignment, borrowed until the operation has ended. In
/// place: in == out. Both may be null if count is 0.
struct Tensor {
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t count = 0;
};

}  // namespace paceline
