// libcuda.so.1 for tests, over fake devices. See README.md. What a call means: CUDA Driver API.

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include <unistd.h>

#include "comm/device/cuda/cuda_driver.h"
#include "comm/device/kernel_block.h"
#include "tests/harness/cpu_kernels.h"
#include "tests/harness/fake_device.h"

namespace {

using paceline::DeviceEvent;
using paceline::Status;
using paceline::cuda::Context;
using paceline::cuda::Event;
using paceline::cuda::kInvalidContext;
using paceline::cuda::kInvalidValue;
using paceline::cuda::kNotInitialized;
using paceline::cuda::kNotReady;
using paceline::cuda::kSuccess;
using paceline::cuda::Pointer;
using paceline::cuda::Stream;
using paceline::testing::CpuKernel;
using paceline::testing::FakeDevice;
using paceline::testing::FakeDevices;
using paceline::testing::find_cpu_kernel;
using CuResult = paceline::cuda::Result;

constexpr CuResult kFailed = 719;
constexpr CuResult kNotFound = 500;
constexpr int kDriverVersion = 13000;

std::atomic<bool> is_initialized{false};

int number_of(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

int device_count() { return number_of("STANDIN_GPUS", 1); }

// Never destroyed: streams may run at exit.
FakeDevices& devices() {
  static FakeDevices* const all =
      new FakeDevices(device_count(), static_cast<std::uint64_t>(number_of("STANDIN_SEED", 1)));
  return *all;
}

// The primary context of a device is its address.
Context context_of(int number) { return reinterpret_cast<Context>(&devices().device(number)); }

std::vector<Context>& contexts() {
  thread_local std::vector<Context> stack;
  return stack;
}

FakeDevice* current() {
  return contexts().empty() ? nullptr : reinterpret_cast<FakeDevice*>(contexts().back());
}

FakeDevice* device_with(Pointer pointer) {
  const void* const address = reinterpret_cast<const void*>(pointer);
  for (int number = 0; number < device_count(); ++number)
    if (devices().device(number).owns(address)) return &devices().device(number);
  return nullptr;
}

int number_of_device(const FakeDevice* device) {
  int number = 0;
  while (&devices().device(number) != device) ++number;
  return number;
}

// Ends the process if it has broken a rule.
CuResult end(FakeDevice& device, const Status& status) {
  const std::string broken = device.broken();
  if (!broken.empty()) {
    std::fprintf(stderr, "stand-in of libcuda.so.1: %s\n", broken.c_str());
    std::abort();
  }
  return status.ok() ? kSuccess : kFailed;
}

template <class Call>
CuResult on_current(const Call& call) {
  FakeDevice* const device = current();
  return device == nullptr ? kInvalidContext : end(*device, call(*device));
}

DeviceEvent handle_of(Event event) { return reinterpret_cast<DeviceEvent>(event); }

std::byte* bytes_at(Pointer pointer) { return reinterpret_cast<std::byte*>(pointer); }

}  // namespace

extern "C" {

// ---- What the module calls ----

CuResult cuDriverGetVersion(int* version) {
  *version = kDriverVersion;
  return kSuccess;
}
CuResult cuInit(unsigned) {
  is_initialized.store(true);
  return kSuccess;
}
CuResult cuThreadExchangeStreamCaptureMode(int* mode) {
  thread_local int current_mode = 0;
  std::swap(*mode, current_mode);
  return kSuccess;
}
CuResult cuDeviceGetCount(int* count) {
  if (!is_initialized.load()) return kNotInitialized;
  *count = device_count();
  return kSuccess;
}
// Each process has devices of its own, unless a test says otherwise.
CuResult cuDeviceGetUuid(paceline::cuda::DeviceUuid* uuid, int device) {
  const int owner = number_of("STANDIN_SHARED_GPUS", 0) != 0 ? 0 : ::getpid();
  *uuid = {};
  std::memcpy(uuid->bytes, &owner, sizeof owner);
  std::memcpy(uuid->bytes + sizeof owner, &device, sizeof device);
  return kSuccess;
}
CuResult cuGetErrorString(CuResult, const char** text) {
  *text = "an error of the stand-in";
  return kSuccess;
}
CuResult cuPointerGetAttribute(void* data, int attribute, Pointer pointer) {
  FakeDevice* const device = device_with(pointer);
  if (device == nullptr) return kInvalidValue;
  const int number = number_of_device(device);
  const Context context = context_of(number);
  const unsigned type = paceline::cuda::kMemoryTypeDevice;
  const unsigned managed = 0;
  switch (attribute) {
    case paceline::cuda::kPointerContext:
      std::memcpy(data, &context, sizeof context);
      return kSuccess;
    case paceline::cuda::kPointerMemoryType:
      std::memcpy(data, &type, sizeof type);
      return kSuccess;
    case paceline::cuda::kPointerIsManaged:
      std::memcpy(data, &managed, sizeof managed);
      return kSuccess;
    case paceline::cuda::kPointerDeviceOrdinal:
      std::memcpy(data, &number, sizeof number);
      return kSuccess;
    default:
      return kInvalidValue;
  }
}
CuResult cuDevicePrimaryCtxRetain(Context* context, int device) {
  *context = context_of(device);
  return kSuccess;
}
CuResult cuCtxGetCurrent(Context* context) {
  *context = contexts().empty() ? nullptr : contexts().back();
  return kSuccess;
}
CuResult cuCtxPushCurrent_v2(Context context) {
  contexts().push_back(context);
  return kSuccess;
}
CuResult cuCtxPopCurrent_v2(Context* context) {
  if (contexts().empty()) return kInvalidContext;
  *context = contexts().back();
  contexts().pop_back();
  return kSuccess;
}
CuResult cuCtxGetDevice(int* device) {
  if (current() == nullptr) return kInvalidContext;
  *device = number_of_device(current());
  return kSuccess;
}
CuResult cuStreamCreate(Stream* stream, unsigned) {
  return on_current([&](FakeDevice& device) -> Status {
    const auto made = device.make_stream();
    if (made.ok()) *stream = static_cast<Stream>(*made);
    return made.ok() ? Status() : made.status();
  });
}
CuResult cuStreamDestroy_v2(Stream stream) {
  return on_current([&](FakeDevice& device) {
    device.destroy_stream(stream);
    return Status();
  });
}
CuResult cuStreamGetCtx(Stream stream, Context* context) {
  FakeDevice* const device = FakeDevice::of_stream(stream);
  if (device == nullptr) return cuCtxGetCurrent(context);
  *context = reinterpret_cast<Context>(device);
  return kSuccess;
}
CuResult cuStreamIsCapturing(Stream stream, int* status) {
  return on_current([&](FakeDevice& device) {
    const auto captured = device.is_captured(stream);
    *status = captured.ok() && *captured ? 1 : 0;
    return captured.ok() ? Status() : captured.status();
  });
}
CuResult cuStreamWaitEvent(Stream stream, Event event, unsigned) {
  return on_current([&](FakeDevice& device) { return device.let_wait(stream, handle_of(event)); });
}
CuResult cuEventCreate(Event* event, unsigned) {
  return on_current([&](FakeDevice& device) -> Status {
    const auto made = device.make_event();
    if (made.ok()) *event = reinterpret_cast<Event>(*made);
    return made.ok() ? Status() : made.status();
  });
}
CuResult cuEventDestroy_v2(Event event) {
  return on_current([&](FakeDevice& device) {
    device.destroy_event(handle_of(event));
    return Status();
  });
}
CuResult cuEventRecord(Event event, Stream stream) {
  return on_current([&](FakeDevice& device) { return device.record(handle_of(event), stream); });
}
CuResult cuEventQuery(Event event) {
  bool passed = false;
  const CuResult result = on_current([&](FakeDevice& device) -> Status {
    const auto asked = device.has_passed(handle_of(event));
    if (asked.ok()) passed = *asked;
    return asked.ok() ? Status() : asked.status();
  });
  return result != kSuccess || passed ? result : kNotReady;
}
#ifndef STANDIN_IS_OLD
CuResult cuMemcpyAsync(Pointer to, Pointer from, std::size_t bytes, Stream stream) {
  return on_current([&](FakeDevice& device) {
    if (device_with(to) != nullptr && device_with(from) != nullptr)
      return device.copy_within(bytes_at(to), bytes_at(from), bytes, stream);
    return device_with(to) != nullptr
               ? device.copy_up(bytes_at(to), bytes_at(from), bytes, stream)
               : device.copy_down(bytes_at(to), bytes_at(from), bytes, stream);
  });
}
#endif
CuResult cuModuleLoadData(paceline::cuda::Module* module, const void* image) {
  *module = static_cast<paceline::cuda::Module>(const_cast<void*>(image));
  return current() == nullptr ? kInvalidContext : kSuccess;
}
// A function is a row of the table of kernels.
CuResult cuModuleGetFunction(paceline::cuda::Function* function, paceline::cuda::Module,
                             const char* name) {
  const CpuKernel* const kernel = find_cpu_kernel(name);
  if (kernel == nullptr) return kNotFound;
  *function = reinterpret_cast<paceline::cuda::Function>(const_cast<CpuKernel*>(kernel));
  return kSuccess;
}
CuResult cuLaunchKernel(paceline::cuda::Function function, unsigned blocks, unsigned, unsigned,
                        unsigned lanes, unsigned, unsigned, unsigned, Stream stream,
                        void** arguments, void**) {
  if (lanes != paceline::kKernelLanes) return kInvalidValue;
  return on_current([&](FakeDevice& device) {
    const auto& kernel = *reinterpret_cast<const CpuKernel*>(function);
    return device.launch(
        {.kernel = {.name = kernel.name.data()},
         .blocks = blocks,
         .arguments = {static_cast<const std::byte*>(arguments[0]), kernel.argument_bytes}},
        stream);
  });
}
CuResult cuMemHostRegister_v2(void* memory, std::size_t bytes, unsigned) {
  return on_current([&](FakeDevice& device) {
    return device.pin({static_cast<std::byte*>(memory), bytes});
  });
}
CuResult cuMemHostUnregister(void* memory) {
  return on_current([&](FakeDevice& device) {
    device.unpin({static_cast<std::byte*>(memory), 0});
    return Status();
  });
}

// ---- What programs call ----

CuResult cuCtxSetCurrent(Context context) {
  contexts().assign(1, context);
  return kSuccess;
}
CuResult cuMemAlloc_v2(Pointer* pointer, std::size_t bytes) {
  return on_current([&](FakeDevice& device) {
    *pointer = reinterpret_cast<Pointer>(device.allocate(bytes));
    return Status();
  });
}
CuResult cuMemFree_v2(Pointer pointer) {
  return on_current([&](FakeDevice& device) {
    device.synchronize();
    device.free(bytes_at(pointer));
    return Status();
  });
}
// Wait for all that was enqueued, as on the default stream.
CuResult cuMemcpyHtoD_v2(Pointer to, const void* from, std::size_t bytes) {
  return on_current([&](FakeDevice& device) {
    device.synchronize();
    std::memcpy(device.seen(bytes_at(to)), from, bytes);
    return Status();
  });
}
CuResult cuMemcpyDtoH_v2(void* to, Pointer from, std::size_t bytes) {
  return on_current([&](FakeDevice& device) {
    device.synchronize();
    std::memcpy(to, device.seen(bytes_at(from)), bytes);
    return Status();
  });
}
// Adds to a stream: each of `count` 32-bit words becomes `value`, as a kernel of the program.
CuResult cuMemsetD32Async(Pointer pointer, unsigned value, std::size_t count, Stream stream) {
  return on_current([&](FakeDevice& device) {
    auto* const words = reinterpret_cast<unsigned*>(device.seen(bytes_at(pointer)));
    device.launch(stream, [=] { std::fill_n(words, count, value); });
    return Status();
  });
}
CuResult cuStreamSynchronize(Stream) {
  return on_current([&](FakeDevice& device) {
    device.synchronize();
    return Status();
  });
}

}  // extern "C"
