#include "launcher/tools/measure/probe/loop/gpu.h"

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <dlfcn.h>

#include "comm/base/try.h"
#include "comm/device/cuda/cuda_driver.h"

namespace paceline::probe {
namespace {

constexpr const char* kDriver = "libcuda.so.1";

Status unavailable(const std::string& why) {
  return Status(Code::kUnavailable, Scope::kProcess, why);
}

cuda::Pointer pointer_of(const void* address) { return reinterpret_cast<cuda::Pointer>(address); }

}  // namespace

struct Gpu::Calls {
  cuda::Result (*init)(unsigned flags) = nullptr;
  cuda::Result (*device_count)(int* count) = nullptr;
  cuda::Result (*retain_primary_context)(cuda::Context* context, int device) = nullptr;
  cuda::Result (*set_current)(cuda::Context context) = nullptr;
  cuda::Result (*allocate)(cuda::Pointer* memory, std::size_t bytes) = nullptr;
  cuda::Result (*free)(cuda::Pointer memory) = nullptr;
  cuda::Result (*write)(cuda::Pointer to, const void* from, std::size_t bytes) = nullptr;
  cuda::Result (*read)(void* to, cuda::Pointer from, std::size_t bytes) = nullptr;
  cuda::Result (*synchronize)(cuda::Stream stream) = nullptr;
  cuda::Result (*error_string)(cuda::Result error, const char** text) = nullptr;

  Status load() {
    void* const library = ::dlopen(kDriver, RTLD_NOW);
    if (library == nullptr)
      return unavailable(std::string("GPU memory needs the NVIDIA driver: ") + ::dlerror());
    const auto find = [library](const char* symbol, auto& call) {
      call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(::dlsym(library, symbol));
      return call != nullptr ? Status() : unavailable(std::string(kDriver) + " has no " + symbol);
    };
    PACELINE_TRY(find("cuInit", init));
    PACELINE_TRY(find("cuDeviceGetCount", device_count));
    PACELINE_TRY(find("cuDevicePrimaryCtxRetain", retain_primary_context));
    PACELINE_TRY(find("cuCtxSetCurrent", set_current));
    PACELINE_TRY(find("cuMemAlloc_v2", allocate));
    PACELINE_TRY(find("cuMemFree_v2", free));
    PACELINE_TRY(find("cuMemcpyHtoD_v2", write));
    PACELINE_TRY(find("cuMemcpyDtoH_v2", read));
    PACELINE_TRY(find("cuStreamSynchronize", synchronize));
    return find("cuGetErrorString", error_string);
  }

  Status check(cuda::Result result, const std::string& what) const {
    if (result == cuda::kSuccess) return {};
    const char* text = nullptr;
    (void)error_string(result, &text);
    return unavailable("cannot " + what + ": " + (text != nullptr ? text : "unknown error") +
                       " (CUDA error " + std::to_string(result) + ")");
  }
};

Gpu::Gpu(std::unique_ptr<Calls> calls) : calls_(std::move(calls)) {}

Gpu::~Gpu() {
  for (std::byte* const memory : memory_) (void)calls_->free(pointer_of(memory));
}

Result<std::unique_ptr<Gpu>> Gpu::choose(int number) {
  auto calls = std::make_unique<Calls>();
  PACELINE_TRY(calls->load());
  int count = 0;
  PACELINE_TRY(calls->check(calls->init(0), "start the CUDA driver"));
  PACELINE_TRY(calls->check(calls->device_count(&count), "count GPUs"));
  if (count == 0) return unavailable("this host has no GPU that CUDA shows");
  const int device = number % count;
  cuda::Context context = nullptr;
  const std::string name = "GPU " + std::to_string(device);
  PACELINE_TRY(calls->check(calls->retain_primary_context(&context, device), "use " + name));
  PACELINE_TRY(calls->check(calls->set_current(context), "choose " + name));
  return std::unique_ptr<Gpu>(new Gpu(std::move(calls)));
}

Result<std::byte*> Gpu::allocate(std::size_t bytes) {
  cuda::Pointer memory = 0;
  PACELINE_TRY(calls_->check(calls_->allocate(&memory, bytes),
                             "allocate " + std::to_string(bytes) + " bytes of GPU memory"));
  return memory_.emplace_back(reinterpret_cast<std::byte*>(memory));
}

Status Gpu::write(void* to, const void* from, std::size_t bytes) {
  PACELINE_TRY(calls_->check(calls_->write(pointer_of(to), from, bytes), "copy to GPU memory"));
  // The call returns when it has read memory that is not pinned.
  return calls_->check(calls_->synchronize(nullptr), "copy to GPU memory");
}

Status Gpu::read(void* to, const void* from, std::size_t bytes) {
  return calls_->check(calls_->read(to, pointer_of(from), bytes), "copy from GPU memory");
}

}  // namespace paceline::probe
