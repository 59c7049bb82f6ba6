// Makes a set of kernels from a template that knows each of them.
#pragma once

#include <cstddef>

#include "collectives/reduce/elements.h"
#include "collectives/reduce/kernels.h"
#include "comm/base/with_type.h"

namespace paceline::reduce {

/// Make<T> has, as static members, the functions of kernels.h: reduce<Op>, fused<Op>, scale,
/// divide.
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
    });
  }
  return set;
}

}  // namespace paceline::reduce
