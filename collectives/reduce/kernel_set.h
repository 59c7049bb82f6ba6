// Makes a set of kernels from a template that knows each of them.
#pragma once

#include <cstddef>
#include <type_traits>

#include "collectives/reduce/elements.h"
#include "collectives/reduce/kernels.h"
#include "comm/base/with_type.h"

namespace paceline::reduce {

/// Make<T> has, as static members, the functions of kernels.h: reduce<Op>, fused<Op>, scale,
/// divide, and weighted_sum for float16.
template <template <class T> class Make>
KernelSet make_kernel_set() {
  KernelSet set;
  for (const DataType type : kDataTypes) {
    Kernels& kernels = set.by_type[static_cast<std::size_t>(type)];
    with_type(type, [&]<class T>(T) {
      for (const ReduceOp op : kReduceOps) {
        with_op(op, [&]<class Op>(Op) {
          kernels.reduce[static_cast<std::size_t>(op)] = &Make<T>::template reduce<Op>;
          kernels.reduce_fused[static_cast<std::size_t>(op)] = &Make<T>::template fused<Op>;
        });
      }
      kernels.scale = &Make<T>::scale;
      kernels.divide = &Make<T>::divide;
      if constexpr (std::is_same_v<T, Float16>) kernels.weighted_sum = &Make<T>::weighted_sum;
    });
  }
  return set;
}

}  // namespace paceline::reduce
