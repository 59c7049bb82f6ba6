// The kernels of the library on a CPU: for fake devices. It is the same source (see
// comm/device/kernel_block.h).
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace paceline::testing {

/// An address among the arguments of a kernel, and the bytes that the kernel uses there.
struct KernelMemory {
  std::size_t place = 0;  ///< of the address in the struct, in bytes
  std::size_t bytes = 0;
};

struct CpuKernel {
  std::string_view name;
  std::size_t argument_bytes = 0;  ///< size of the struct
  std::vector<KernelMemory> (*memory)(const void* arguments) = nullptr;
  void (*run)(const void* arguments, unsigned blocks) = nullptr;
};

/// Returns null if no kernel has this name.
const CpuKernel* find_cpu_kernel(std::string_view name);

}  // namespace paceline::testing
