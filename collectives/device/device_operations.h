// The operations of one communicator whose buffers lie in device memory: which these are, and who
// carries them out. Today that is the staged lane of each device.
#pragma once

#include <map>
#include <memory>

#include <paceline/status.h>

#include "collectives/backend/backend.h"
#include "collectives/device/staged_lane.h"
#include "collectives/held_communicator.h"
#include "comm/completion.h"
#include "comm/device/device.h"
#include "comm/device/process_devices.h"

namespace paceline {

class DeviceOperations {
 public:
  /// `devices`: other than those of this process; null: those. All is borrowed.
  DeviceOperations(HeldCommunicator& held, Devices* devices) : held_(held), devices_(devices) {}
  DeviceOperations(const DeviceOperations&) = delete;
  DeviceOperations& operator=(const DeviceOperations&) = delete;

  /// False for most calls of a program without devices. If it is true, device_of() decides.
  bool may_serve(const OperationRequest& request) {
    const bool is_known = request.input == known_input_ && request.output == known_output_ &&
                          request.messages.empty();
    if (is_known && !has_driver_) return false;
    known_input_ = request.input;
    known_output_ = request.output;
    return may_serve();
  }
  bool may_serve() {
    has_driver_ = has_driver_ || devices_ != nullptr || ProcessDevices::of_process().has_driver();
    return has_driver_;
  }
  /// The device in whose memory all buffers lie that this rank uses. Null: the CPU can address
  /// them all. If this rank has no elements, its stream tells the device, or else the operation
  /// before. Code::kInvalidArgument: they lie in several places.
  Result<Device*> device_of(const OperationRequest& request);

  /// Starts an operation on the memory of this device, or ends it at once with an error.
  std::shared_ptr<const WorkCompletion> start(const OperationRequest& request, Device& device);
  /// See StagedLane.
  void leave();

 private:
  Result<Devices*> devices();
  Status check(const OperationRequest& request) const;
  Result<StagedLane*> lane_of(Device& device);

  HeldCommunicator& held_;
  Devices* devices_;
  bool has_driver_ = false;
  // Host memory, as the process had no driver when they were last looked at. A driver that has come
  // since then cannot have put device memory at the same addresses while the caller uses them.
  const void* known_input_ = nullptr;
  const void* known_output_ = nullptr;
  Device* last_device_ = nullptr;  // of the last operation that had buffers
  std::map<Device*, std::unique_ptr<StagedLane>> lanes_;  // guarded by the engine's baton
};

}  // namespace paceline
