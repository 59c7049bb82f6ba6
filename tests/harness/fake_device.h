// A device in this process, without a GPU. Its memory cannot be addressed by the CPU: a test looks
// at it through another mapping. A stream runs some of its tasks at each question about an event. A
// seed decides how many, so its work is late in ever new orders.
//
// It enforces the rules: host memory of a copy must be pinned, device memory must be allocated, and
// a stream must exist. broken() names the first rule that was broken.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/base/random.h"
#include "comm/device/device.h"
#include "comm/device/device_group.h"
#include "tests/harness/cpu_kernels.h"

namespace paceline::testing {

/// Any thread may call any member.
class FakeDevice final : public Device {
 public:
  FakeDevice(int number, std::uint64_t seed);
  ~FakeDevice() override { retire(); }
  /// Frees its memory and streams. Later calls fail, as those of a thread that is left behind.
  void retire();

  /// Device memory, aligned to a page. An address that the CPU cannot read.
  std::byte* allocate(std::size_t bytes);
  /// Its address is not used again for long. A later copy to it breaks the rules.
  void free(std::byte* memory);
  /// Where the CPU can read and write what lies at this address.
  std::byte* seen(const void* address) const;
  bool owns(const void* address) const;

  /// Nothing runs in this stream until release(): for work of the caller that takes long.
  void hold(DeviceStream stream);
  void release(DeviceStream stream);
  /// Calls on the stream become part of a graph.
  void capture(DeviceStream stream);
  /// Ends the capture, and launches the graph in the same stream. It may have kernels only.
  void replay(DeviceStream stream);
  /// All calls fail from now on, and what was enqueued is lost.
  void fail();
  /// Pins no more host memory, and is otherwise as before.
  void refuse_pins();
  /// Can run no kernels of the library.
  void refuse_kernels();
  /// Kernels of the library begin only while this is false.
  void hold_kernels(bool are_held);
  /// Adds a function to a stream, as a kernel of the caller.
  void launch(DeviceStream stream, std::function<void()> kernel);
  /// The same for a kernel that is called again and again until it returns true. What comes after
  /// it in the stream waits.
  void launch_until(DeviceStream stream, std::function<bool()> kernel);
  /// For kernels, while they run: where the CPU can use this device memory. Null, and a broken rule
  /// that begins with `what`, if it is not allocated.
  std::byte* used_by_kernel(const void* address, std::size_t bytes, const char* what) {
    return use(address, bytes, what);
  }
  /// The device that has this stream. Null: none.
  static FakeDevice* of_stream(DeviceStream stream);
  /// Runs all that can run.
  void run_all();
  /// Runs all until nothing is left, also what waits for devices of other processes: up to a
  /// minute.
  void synchronize();

  /// The rules that were broken; empty: none.
  std::string broken() const;

  std::string name() const override;
  std::array<std::byte, 16> identity() const override;
  Status run_in_context(FunctionRef<void()> calls) override;
  Result<DeviceStream> make_stream() override;
  void destroy_stream(DeviceStream stream) override;
  Result<DeviceEvent> make_event() override;
  void destroy_event(DeviceEvent event) override;
  Status record(DeviceEvent event, DeviceStream stream) override;
  Result<bool> has_passed(DeviceEvent event) override;
  Status let_wait(DeviceStream stream, DeviceEvent event) override;
  Status copy_down(void* host, const void* device, std::size_t bytes, DeviceStream stream) override;
  Status copy_up(void* device, const void* host, std::size_t bytes, DeviceStream stream) override;
  Status copy_within(void* to, const void* from, std::size_t bytes, DeviceStream stream) override;
  Status load(const Kernel& kernel) override;
  Status launch(const KernelLaunch& launch, DeviceStream stream) override;
  Result<std::byte*> make_memory(std::size_t bytes) override;
  void destroy_memory(std::byte* memory) override;
  Result<bool> is_captured(DeviceStream stream) override;
  Status pin(std::span<std::byte> host) override;
  void unpin(std::span<std::byte> host) override;

 private:
  struct Task {
    std::function<bool()> may_run;
    std::function<void()> run;
    bool may_be_captured = false;
  };
  struct Stream {
    std::deque<Task> tasks{};
    bool is_held = false;
    bool is_captured = false;
  };
  struct Event {
    std::uint64_t recorded = 0;  // how often
    std::uint64_t passed = 0;    // the last that has passed
  };
  struct Memory {
    std::byte* seen = nullptr;
    std::size_t bytes = 0;
    bool is_free = false;
  };

  static void unmap(const std::byte* address, const Memory& memory);

  // With the mutex held.
  Status enqueue(DeviceStream stream, Task task);
  bool run_one(Stream& stream);
  void run_some();
  std::byte* use(const void* device, std::size_t bytes, const char* what);
  void run_kernel(const CpuKernel& kernel, std::span<std::byte> arguments, unsigned blocks);
  void break_rule(const std::string& what);
  Status error(const std::string& what) const;

  const int number_;
  const std::uint64_t seed_;
  mutable std::mutex mutex_;  // guards all that follows
  Random random_;
  std::map<DeviceStream, std::unique_ptr<Stream>> streams_;
  std::map<DeviceEvent, std::unique_ptr<Event>> events_;
  std::map<const std::byte*, Memory> memory_;
  std::deque<const std::byte*> freed_;  // the oldest first
  std::map<const std::byte*, std::size_t> pinned_;
  bool has_failed_ = false;
  bool is_retired_ = false;
  bool refuses_pins_ = false;
  bool refuses_kernels_ = false;
  bool are_kernels_held_ = false;
  std::string broken_;
};

/// Devices of one process. Addresses of none of them are host memory.
class FakeDevices final : public Devices {
 public:
  FakeDevices(int devices, std::uint64_t seed);
  /// Devices retire, but stay, as the contract says.
  ~FakeDevices() override;

  /// From now on groups() is this library; null: none.
  void use_library(std::unique_ptr<DeviceGroups> library) { library_ = std::move(library); }
  FakeDevice& device(int number) { return *devices_[static_cast<std::size_t>(number)]; }

  Result<Device*> device_of(const void* address) override;
  Result<Device*> device_of_stream(DeviceStream stream) override;
  Result<DeviceGroups*> groups() override;
  std::string description() const override { return "fake devices"; }

 private:
  std::vector<std::unique_ptr<FakeDevice>> devices_;
  std::unique_ptr<DeviceGroups> library_;
};

}  // namespace paceline::testing
