// The operations of one communicator whose buffers lie in device memory: which they are, and who
// carries them out. Today the staged lane of each device does.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>

#include <paceline/status.h>

#include "collectives/backend/backend.h"
#include "collectives/held_communicator.h"
#include "collectives/staged_lane.h"
#include "comm/completion.h"
#include "comm/device/device.h"
#include "comm/device/process_devices.h"

namespace paceline {

/// Any thread may call any member.
class DeviceOperations {
 public:
  /// `devices`: null for those of this process. Both are borrowed.
  DeviceOperations(HeldCommunicator& held, Devices* devices)
      : held_(held), devices_(devices), has_driver_(devices != nullptr) {}
  DeviceOperations(const DeviceOperations&) = delete;
  DeviceOperations& operator=(const DeviceOperations&) = delete;

  /// False for most calls of a process without devices. If it is true, device_of() decides.
  bool may_serve(const OperationRequest& request) {
    if (has_driver_.load(std::memory_order_relaxed)) return true;
    const std::uint64_t key = key_of(request);
    if (request.messages.empty() && key == known_host_.load(std::memory_order_relaxed))
      return false;
    known_host_.store(key, std::memory_order_relaxed);
    return may_serve();
  }
  bool may_serve() {
    if (has_driver_.load(std::memory_order_relaxed)) return true;
    const bool has_driver = ProcessDevices::of_process().has_driver();
    has_driver_.store(has_driver, std::memory_order_relaxed);
    return has_driver;
  }
  /// The device in whose memory all buffers with elements lie that this rank uses. Null: they are
  /// host memory. If the rank has no elements, the device of its stream, or of `fallback`, or of
  /// the last operation with elements. Code::kInvalidArgument: they lie in several places, or the
  /// stream is of another device.
  Result<Device*> device_of(const OperationRequest& request, DeviceStream fallback);

  /// Starts an operation on the memory of this device, or ends it at once with an error. With the
  /// engine's baton held.
  std::shared_ptr<const WorkCompletion> start(const OperationRequest& request, Device& device);
  /// See StagedLane.
  void leave();

 private:
  // Two buffers of a call. Host memory cannot become device memory while calls use it, so the
  // buffers of the call before need no second look.
  static std::uint64_t key_of(const OperationRequest& request) {
    return reinterpret_cast<std::uintptr_t>(request.input) * 0x9E3779B97F4A7C15 +
           reinterpret_cast<std::uintptr_t>(request.output);
  }
  Result<Devices*> devices_for(const OperationRequest& request);
  Status check(const OperationRequest& request) const;
  Result<StagedLane*> lane_of(Device& device);

  HeldCommunicator& held_;
  Devices* const devices_;
  std::atomic<bool> has_driver_;
  std::atomic<std::uint64_t> known_host_{0};
  std::atomic<Device*> last_device_{nullptr};             // of the last operation with elements
  std::map<Device*, std::unique_ptr<StagedLane>> lanes_;  // guarded by the engine's baton
};

}  // namespace paceline
