// The module paceline_cuda.so: devices by the CUDA driver. See comm/device/device.h for the
// contract, and CUDA Driver API (stream, event, memory and unified addressing) for the calls.

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <paceline/status.h>

#include "comm/device/cuda/cuda_driver.h"
#include "comm/device/cuda/nccl_groups.h"
#include "comm/device/device.h"
#include "comm/device/kernel_block.h"

namespace paceline::cuda {
namespace {

Pointer pointer_of(const void* address) { return reinterpret_cast<Pointer>(address); }

// A device, in one of its contexts. A stream belongs to one context, as does an event.
class CudaDevice final : public Device {
 public:
  CudaDevice(const Driver& driver, Context context, int number)
      : driver_(driver), context_(context), number_(number) {}

  std::string name() const override { return "GPU " + std::to_string(number_); }
  std::array<std::byte, 16> identity() const override {
    DeviceUuid uuid{};
    (void)driver_.device_uuid(&uuid, number_);
    std::array<std::byte, 16> identity{};
    std::memcpy(identity.data(), uuid.bytes, identity.size());
    return identity;
  }
  Status run_in_context(FunctionRef<void()> calls) override {
    return call("become current", [&] {
      calls();
      return kSuccess;
    });
  }

  paceline::Result<DeviceStream> make_stream() override {
    Stream stream = nullptr;
    const Status made =
        call("create a stream", [&] { return driver_.create_stream(&stream, kStreamNonBlocking); });
    if (!made.ok()) return made;
    return static_cast<DeviceStream>(stream);
  }
  void destroy_stream(DeviceStream stream) override {
    (void)call("", [&] { return driver_.destroy_stream(static_cast<Stream>(stream)); });
  }
  paceline::Result<DeviceEvent> make_event() override {
    Event event = nullptr;
    const Status made =
        call("create an event", [&] { return driver_.create_event(&event, kEventDisableTiming); });
    if (!made.ok()) return made;
    return reinterpret_cast<DeviceEvent>(event);
  }
  void destroy_event(DeviceEvent event) override {
    (void)call("", [&] { return driver_.destroy_event(reinterpret_cast<Event>(event)); });
  }
  Status record(DeviceEvent event, DeviceStream stream) override {
    return call("record an event", [&] {
      return driver_.record_event(reinterpret_cast<Event>(event), static_cast<Stream>(stream));
    });
  }
  paceline::Result<bool> has_passed(DeviceEvent event) override {
    bool passed = true;
    const Status asked = call("run what was enqueued", [&] {
      const Result result = driver_.query_event(reinterpret_cast<Event>(event));
      passed = result != kNotReady;
      return passed ? result : kSuccess;
    });
    if (!asked.ok()) return asked;
    return passed;
  }
  Status let_wait(DeviceStream stream, DeviceEvent event) override {
    return call("let a stream wait", [&] {
      return driver_.wait_event(static_cast<Stream>(stream), reinterpret_cast<Event>(event), 0);
    });
  }
  Status copy_down(void* host, const void* device, std::size_t bytes,
                   DeviceStream stream) override {
    return copy(host, device, bytes, stream);
  }
  Status copy_up(void* device, const void* host, std::size_t bytes, DeviceStream stream) override {
    return copy(device, host, bytes, stream);
  }
  Status copy_within(void* to, const void* from, std::size_t bytes, DeviceStream stream) override {
    return copy(to, from, bytes, stream);
  }
  Status load(const Kernel& kernel) override {
    if (kernel.image->bytes.empty())
      return Status(Code::kUnavailable, Scope::kGroup,
                    "this build has no kernels for GPUs, because nvcc was missing or too old");
    const std::lock_guard lock(mutex_);
    Function& function = functions_[{kernel.image, kernel.name}];
    if (function != nullptr) return {};
    return call(std::string("load the kernel ") + kernel.name, [&] {
      Module& module = modules_[kernel.image];
      Result result = kSuccess;
      if (module == nullptr) result = driver_.load_module(&module, kernel.image->bytes.data());
      return result == kSuccess ? driver_.find_function(&function, module, kernel.name) : result;
    });
  }
  Status launch(const KernelLaunch& launch, DeviceStream stream) override {
    Function const function = loaded(launch.kernel);
    void* arguments = const_cast<std::byte*>(launch.arguments.data());
    return call("run a kernel", [&] {
      return driver_.launch(function, launch.blocks, 1, 1, kKernelLanes, 1, 1, 0,
                            static_cast<Stream>(stream), &arguments, nullptr);
    });
  }
  paceline::Result<std::byte*> make_memory(std::size_t bytes) override {
    Pointer memory = 0;
    if (bytes == 0) return nullptr;
    const Status made = call("allocate " + std::to_string(bytes) + " bytes",
                             [&] { return driver_.allocate(&memory, bytes); });
    if (!made.ok()) return made;
    return reinterpret_cast<std::byte*>(memory);
  }
  void destroy_memory(std::byte* memory) override {
    if (memory != nullptr) (void)call("", [&] { return driver_.free(pointer_of(memory)); });
  }
  paceline::Result<bool> is_captured(DeviceStream stream) override {
    int status = 0;
    bool is_implicit = false;
    const Status asked = call("look at a stream", [&] {
      const Result result = driver_.is_capturing(static_cast<Stream>(stream), &status);
      is_implicit = result == kCaptureIsImplicit;
      return is_implicit ? kSuccess : result;
    });
    if (!asked.ok()) return asked;
    if (is_implicit)
      return Status(Code::kInvalidArgument, Scope::kOperation,
                    "the default stream of " + name() +
                        " cannot be used while a stream that waits for it is captured");
    return status != 0;
  }
  Status pin(std::span<std::byte> host) override {
    return call("pin " + std::to_string(host.size()) + " bytes of host memory", [&] {
      return driver_.register_host(host.data(), host.size(), kHostRegisterPortable);
    });
  }
  void unpin(std::span<std::byte> host) override {
    (void)call("", [&] { return driver_.unregister_host(host.data()); });
  }

 private:
  Status copy(void* to, const void* from, std::size_t bytes, DeviceStream stream) {
    return call("copy " + std::to_string(bytes) + " bytes", [&] {
      return driver_.copy(pointer_of(to), pointer_of(from), bytes, static_cast<Stream>(stream));
    });
  }

  Function loaded(const Kernel& kernel) const {
    const std::lock_guard lock(mutex_);
    const auto found = functions_.find({kernel.image, kernel.name});
    return found == functions_.end() ? nullptr : found->second;
  }

  // Makes a call with the context as the current one of this thread. Some calls, such as
  // cuEventQuery, are refused while any thread captures a graph, and end its capture, unless this
  // thread's mode is relaxed (CUDA Driver API, cuThreadExchangeStreamCaptureMode).
  template <class Text, class Call>
  Status call(const Text& what, const Call& call) const {
    Result result = driver_.push_context(context_);
    if (result == kSuccess) {
      int mode = kCaptureModeRelaxed;
      const bool is_relaxed = driver_.exchange_capture_mode(&mode) == kSuccess;
      result = call();
      if (is_relaxed) (void)driver_.exchange_capture_mode(&mode);
      Context popped = nullptr;
      (void)driver_.pop_context(&popped);
    }
    if (result == kSuccess) return {};
    const char* text = nullptr;
    (void)driver_.error_string(result, &text);
    return Status(Code::kUnavailable, Scope::kGroup,
                  name() + " cannot " + std::string(what) + ": " +
                      (text != nullptr ? text : "unknown error") + " (CUDA error " +
                      std::to_string(result) + ")");
  }

  const Driver& driver_;
  const Context context_;
  const int number_;
  mutable std::mutex mutex_;  // guards what follows, which stays as long as the context
  std::map<const KernelImage*, Module> modules_;
  std::map<std::pair<const KernelImage*, std::string_view>, Function> functions_;
};

class CudaDevices final : public Devices {
 public:
  explicit CudaDevices(const Driver& driver) : driver_(driver) {}

  paceline::Result<Device*> device_of(const void* address) override {
    const Pointer pointer = pointer_of(address);
    unsigned type = 0;
    const Result known = driver_.pointer_attribute(&type, kPointerMemoryType, pointer);
    if (is_of_host_memory(known)) return nullptr;
    if (known != kSuccess) return failed("say where a buffer lies", known);
    unsigned managed = 0;
    (void)driver_.pointer_attribute(&managed, kPointerIsManaged, pointer);
    if (type != kMemoryTypeDevice && managed == 0) return nullptr;
    int number = 0;
    (void)driver_.pointer_attribute(&number, kPointerDeviceOrdinal, pointer);
    Context context = nullptr;
    (void)driver_.pointer_attribute(&context, kPointerContext, pointer);
    return device(context, std::max(number, 0));
  }

  paceline::Result<Device*> device_of_stream(DeviceStream stream) override {
    Context context = nullptr;
    const Result found = stream == nullptr
                             ? driver_.current_context(&context)
                             : driver_.stream_context(static_cast<Stream>(stream), &context);
    if (found != kSuccess || context == nullptr)
      return Status(Code::kInvalidArgument, Scope::kOperation,
                    "the stream belongs to no GPU (CUDA error " + std::to_string(found) + ")");
    int number = 0;
    if (driver_.push_context(context) == kSuccess) {
      (void)driver_.context_device(&number);
      (void)driver_.pop_context(&context);
    }
    return device(context, number);
  }

  paceline::Result<DeviceGroups*> groups() override {
    const std::lock_guard lock(mutex_);
    if (groups_ == nullptr && no_groups_.ok()) {
      NcclCalls calls;
      std::string why;
      if (calls.load(why)) {
        groups_ = new NcclGroups(calls);  // never destroyed, as this
      } else {
        no_groups_ = Status(Code::kUnavailable, Scope::kProcess, why);
      }
    }
    if (groups_ == nullptr) return no_groups_;
    return static_cast<DeviceGroups*>(groups_);
  }

  std::string description() const override {
    int version = 0;
    int count = 0;
    (void)driver_.driver_version(&version);
    Result counted = driver_.init(0);
    if (counted == kSuccess) counted = driver_.device_count(&count);
    if (counted != kSuccess) return failed("count GPUs", counted).text();
    return "CUDA driver " + std::to_string(version / 1000) + "." +
           std::to_string(version % 1000 / 10) + ", " + std::to_string(count) +
           (count == 1 ? " GPU" : " GPUs");
  }

 private:
  // Memory that the driver does not know, or a driver without devices.
  static bool is_of_host_memory(Result result) {
    return result == kInvalidValue || result == kNotInitialized || result == kDeinitialized ||
           result == kNoDevice || result == kInvalidContext;
  }

  Status failed(const char* what, Result result) const {
    const char* text = nullptr;
    (void)driver_.error_string(result, &text);
    return Status(Code::kUnavailable, Scope::kGroup,
                  std::string("the CUDA driver cannot ") + what + ": " +
                      (text != nullptr ? text : "unknown error") + " (CUDA error " +
                      std::to_string(result) + ")");
  }

  // Memory of a pool belongs to no context: the runtime library's is the primary one.
  paceline::Result<Device*> device(Context context, int number) {
    const std::lock_guard lock(mutex_);
    if (context == nullptr) {
      Context& primary = primary_[number];
      const bool is_there =
          primary != nullptr || driver_.retain_primary_context(&primary, number) == kSuccess;
      if (!is_there)
        return Status(Code::kUnavailable, Scope::kGroup,
                      "GPU " + std::to_string(number) + " has no primary context");
      context = primary;
    }
    std::unique_ptr<CudaDevice>& device = devices_[context];
    if (device == nullptr) device = std::make_unique<CudaDevice>(driver_, context, number);
    return device.get();
  }

  const Driver& driver_;
  std::mutex mutex_;  // guards what follows
  std::map<int, Context> primary_;
  std::map<Context, std::unique_ptr<CudaDevice>> devices_;
  NcclGroups* groups_ = nullptr;
  Status no_groups_;  // why not, once it is known
};

Devices* open(std::string& why) {
  static Driver* const driver = new Driver();
  return driver->load(why) ? new CudaDevices(*driver) : nullptr;
}

}  // namespace
}  // namespace paceline::cuda

extern "C" __attribute__((visibility("default")))
const paceline::DeviceModule paceline_device_module{.open = paceline::cuda::open};
