#include "collectives/reduce/plain.h"

#include "collectives/reduce/kernel_set.h"

namespace paceline {

const KernelSet& plain_kernels() {
  static const KernelSet set = reduce::make_kernel_set<reduce::Plain>();
  return set;
}

}  // namespace paceline
