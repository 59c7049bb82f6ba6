// The operations of one communicator whose buffers lie in device memory: which they are, and which
// lane carries them out.
//
// At the first of them the ranks look whether all have a library such as NCCL
// (device_group_setup.h). If so, it carries out what it can. The staged lane of each device carries
// out the rest.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include <paceline/status.h>

#include "collectives/backend/backend.h"
#include "collectives/device_group_lane.h"
#include "collectives/device_group_setup.h"
#include "collectives/device_lane.h"
#include "collectives/held_communicator.h"
#include "collectives/staged_lane.h"
#include "comm/completion.h"
#include "comm/device/device.h"
#include "comm/device/process_devices.h"

namespace paceline {

/// Any thread may call any member.
class DeviceOperations final : private DeviceGroupSetup::Owner {
 public:
  /// `devices`: null for those of this process. Both are borrowed.
  DeviceOperations(HeldCommunicator& held, Devices* devices);
  ~DeviceOperations();
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
  /// Does a library carry out reductions of this type? The same on all ranks. Known once one
  /// operation on device memory has ended. With the engine's baton held.
  bool reduces_by_library(DataType type) const {
    return group_lane_ != nullptr && held_.parts().determinism == Determinism::kFast &&
           setup_->serves(type);
  }
  /// The device of that library's group. Null: there is none. With the engine's baton held.
  const Device* library_device() const {
    return group_lane_ == nullptr ? nullptr : &group_lane_->device();
  }
  /// See DeviceLane. With the engine's baton held.
  bool is_left_behind() const { return group_lane_ != nullptr && group_lane_->is_left_behind(); }
  /// See DeviceLane.
  void leave();

 private:
  // Two buffers of a call. Host memory cannot become device memory while calls use it, so the
  // buffers of the call before need no second look.
  static std::uint64_t key_of(const OperationRequest& request) {
    return reinterpret_cast<std::uintptr_t>(request.input) * 0x9E3779B97F4A7C15 +
           reinterpret_cast<std::uintptr_t>(request.output);
  }
  class Deferred;

  Result<Devices*> devices_for(const OperationRequest& request);
  Status check(const OperationRequest& request) const;
  Status start(const OperationRequest& request, Device& device,
               std::shared_ptr<WorkCompletion> completion);
  Status set_up(const OperationRequest& request, Device& device);
  EventPool& events_of(Device& device);
  Result<DeviceCallPlace> place_of(const OperationRequest& request, Device& device);
  Status defer(const OperationRequest& request, Device& device, const DeviceCallPlace& place,
               std::shared_ptr<WorkCompletion> completion);
  Result<OperationStage*> take(const OperationRequest& request, Device& device,
                               const DeviceCallPlace& place,
                               std::shared_ptr<WorkCompletion> completion);
  Result<DeviceLane*> lane_for(const OperationRequest& request, Device& device);
  void setup_is_over() override;
  Status use_group();

  HeldCommunicator& held_;
  Devices* const devices_;
  std::atomic<bool> has_driver_;
  std::atomic<std::uint64_t> known_host_{0};
  std::atomic<Device*> last_device_{nullptr};  // of the last operation with elements
  // Guarded by the engine's baton.
  std::map<Device*, EventPool> events_;  // outlives those that use it
  std::unique_ptr<DeviceGroupSetup> setup_;
  bool is_settled_ = false;                          // it is over
  std::vector<std::unique_ptr<Deferred>> deferred_;  // called before that
  std::unique_ptr<DeviceGroupLane> group_lane_;      // null: no library
  std::map<Device*, std::unique_ptr<StagedLane>> staged_lanes_;
  const DeviceLane* last_lane_ = nullptr;
  std::shared_ptr<const WorkCompletion> last_;   // of that lane
  std::shared_ptr<const WorkCompletion> after_;  // the last of the lane before
};

}  // namespace paceline
