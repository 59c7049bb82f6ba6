// The kernels of the library on a FakeDevice.
#include <cstring>
#include <vector>

#include "tests/harness/cpu_kernels.h"
#include "tests/harness/fake_device.h"

namespace paceline::testing {

void FakeDevice::refuse_kernels() {
  const std::lock_guard lock(mutex_);
  refuses_kernels_ = true;
}

void FakeDevice::hold_kernels(bool are_held) {
  const std::lock_guard lock(mutex_);
  are_kernels_held_ = are_held;
}

Status FakeDevice::load(const Kernel& kernel) {
  const std::lock_guard lock(mutex_);
  if (!has_failed_ && !refuses_kernels_ && find_cpu_kernel(kernel.name) != nullptr) return {};
  return Status(Code::kUnavailable, Scope::kGroup,
                name() + " cannot load the kernel " + kernel.name);
}

Status FakeDevice::launch(const KernelLaunch& launch, DeviceStream stream) {
  const std::lock_guard lock(mutex_);
  const CpuKernel* const kernel = find_cpu_kernel(launch.kernel.name);
  if (kernel == nullptr || kernel->argument_bytes != launch.arguments.size()) {
    break_rule("a kernel that does not exist, or has other arguments, was enqueued");
    return {};
  }
  std::vector<std::byte> arguments(launch.arguments.begin(), launch.arguments.end());
  return enqueue(stream, {.may_run = [this] { return !are_kernels_held_; },
                          .run =
                              [this, kernel, arguments, blocks = launch.blocks]() mutable {
                                run_kernel(*kernel, arguments, blocks);
                              },
                          .may_be_captured = true});
}

// With the addresses at which the CPU sees the memory.
void FakeDevice::run_kernel(const CpuKernel& kernel, std::span<std::byte> arguments,
                            unsigned blocks) {
  for (const KernelMemory& memory : kernel.memory(arguments.data())) {
    const void* address = nullptr;
    std::memcpy(&address, &arguments[memory.place], sizeof address);
    const std::byte* const seen = use(address, memory.bytes, "a kernel uses");
    if (seen == nullptr) return;
    std::memcpy(&arguments[memory.place], &seen, sizeof seen);
  }
  kernel.run(arguments.data(), blocks);
}

}  // namespace paceline::testing
