// Devices whose memory the CPU cannot address: GPUs. A module implements these interfaces
// (cuda/cuda_module.cc); tests have a device of their own (tests/harness/fake_device.h).
//
// Streams run what is enqueued one after another. An event has passed when all that was enqueued in
// its stream before record() has ended (CUDA C Programming Guide, "Asynchronous Concurrent
// Execution"). Only destroy_memory() and load() wait for the device.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <paceline/status.h>

#include "comm/base/function_ref.h"

namespace paceline {

class DeviceGroups;

/// The driver's own handle: a cudaStream_t. Null is the default stream.
using DeviceStream = void*;
struct DeviceEventHandle;
/// The driver's own handle: a cudaEvent_t.
using DeviceEvent = DeviceEventHandle*;

/// Code for devices, as a compiler of the vendor has made it (a fat binary of nvcc). Empty: this
/// build has none.
struct KernelImage {
  std::span<const std::byte> bytes;
};
/// A function of the image. It has one argument, a struct, and runs in blocks of kKernelLanes lanes
/// (kernel_block.h).
struct Kernel {
  const KernelImage* image = nullptr;
  const char* name = nullptr;
};
struct KernelLaunch {
  Kernel kernel;
  unsigned blocks = 0;
  std::span<const std::byte> arguments{};  ///< the struct, which is copied
};

/// One device. Any thread may call any member; only one thread at a time uses a stream or an event.
/// Errors name the device, and what the driver said: Code::kUnavailable, Scope::kGroup.
class Device {
 public:
  virtual ~Device() = default;

  /// For messages: "GPU 0".
  virtual std::string name() const = 0;
  /// The same in all processes, and on no other device.
  virtual std::array<std::byte, 16> identity() const = 0;
  /// Calls `calls` with the device as the current one of this thread.
  virtual Status run_in_context(FunctionRef<void()> calls) = 0;

  /// A stream that does not wait for the default stream.
  virtual Result<DeviceStream> make_stream() = 0;
  virtual void destroy_stream(DeviceStream stream) = 0;
  virtual Result<DeviceEvent> make_event() = 0;
  virtual void destroy_event(DeviceEvent event) = 0;

  virtual Status record(DeviceEvent event, DeviceStream stream) = 0;
  virtual Result<bool> has_passed(DeviceEvent event) = 0;
  /// Later work in `stream` begins after the event has passed.
  virtual Status let_wait(DeviceStream stream, DeviceEvent event) = 0;

  /// Enqueues a copy. The host memory has been pinned.
  virtual Status copy_down(void* host, const void* device, std::size_t bytes,
                           DeviceStream stream) = 0;
  virtual Status copy_up(void* device, const void* host, std::size_t bytes,
                         DeviceStream stream) = 0;
  /// Both are memory of this device.
  virtual Status copy_within(void* to, const void* from, std::size_t bytes,
                             DeviceStream stream) = 0;

  /// Before launch(). It may wait for the device. Code::kUnavailable says why the device cannot run
  /// the kernel.
  virtual Status load(const Kernel& kernel) = 0;
  /// Enqueues a kernel that was loaded.
  virtual Status launch(const KernelLaunch& launch, DeviceStream stream) = 0;

  /// Memory of the device, with unspecified contents, aligned to 256 bytes. Null for 0 bytes.
  /// destroy_memory() may wait for work that was enqueued.
  virtual Result<std::byte*> make_memory(std::size_t bytes) = 0;
  virtual void destroy_memory(std::byte* memory) = 0;

  /// True while the calls on a stream become part of a graph instead of running.
  virtual Result<bool> is_captured(DeviceStream stream) = 0;

  /// Lets the device copy from and to host memory without the CPU. Until unpin().
  virtual Status pin(std::span<std::byte> host) = 0;
  virtual void unpin(std::span<std::byte> host) = 0;
};

/// The devices of a process. Any thread may call any member. Devices stay as long as this.
class Devices {
 public:
  virtual ~Devices() = default;

  /// The device in whose memory the address lies. Null: host memory. An error says that the driver
  /// does not answer.
  virtual Result<Device*> device_of(const void* address) = 0;
  /// The device of a stream; of the default stream, the device that this thread has chosen.
  virtual Result<Device*> device_of_stream(DeviceStream stream) = 0;
  /// The library that moves memory between devices of several ranks. An error says why there is
  /// none: Code::kUnavailable.
  virtual Result<DeviceGroups*> groups() = 0;
  /// For `paceline info`: "CUDA driver 13.0, 8 devices".
  virtual std::string description() const = 0;
};

/// A module exports one of these as kDeviceModuleSymbol.
struct DeviceModule {
  static constexpr std::uint32_t kVersion = 5;

  std::uint32_t version = kVersion;
  /// The devices are never destroyed. Null: the module cannot use the driver, and `why` says why.
  Devices* (*open)(std::string& why) = nullptr;
};
inline constexpr const char* kDeviceModuleSymbol = "paceline_device_module";

}  // namespace paceline
