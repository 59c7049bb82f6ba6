// One of many arrays that are reduced in one operation: Communicator::all_reduce_many().
#pragma once

#include <cstddef>

namespace paceline {

/// `count` elements, at any address. In place: in == out. May be null where count is zero.
struct Tensor {
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t count = 0;
};

}  // namespace paceline
