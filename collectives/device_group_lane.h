// Carries out operations on the memory of one device by a library that moves memory between
// devices: NCCL.
//
//   caller's stream   called
//   own stream          +--- the library's calls --- finished
//   queue                    +-- tracked -------------------+
//
// The calls are enqueued at once, in the order of the operations, without waiting for what runs. In
// the queue of operations each has its place, too, but no messages: there its deadline passes,
// other ranks hear of it when one is late, and a rank that has called something else is named.
//
// After an error the library is stopped. The operation ends when what was enqueued is done, so its
// memory may be freed then. If the device does not answer for a few seconds, the operation ends
// nevertheless.
#pragma once

#include <memory>

#include <paceline/status.h>

#include "collectives/device_lane.h"
#include "collectives/held_communicator.h"
#include "comm/completion.h"
#include "comm/device/device.h"
#include "comm/device/device_group.h"
#include "comm/engine.h"

namespace paceline {

class DeviceGroupLane final : public DeviceLane {
 public:
  /// All but the group are borrowed. The group is ready.
  static Result<std::unique_ptr<DeviceGroupLane>> make(HeldCommunicator& held, Device& device,
                                                       EventPool& events,
                                                       std::unique_ptr<DeviceGroup> group);
  ~DeviceGroupLane() override;

  const Device& device() const { return device_; }

  Result<OperationStage*> take(const OperationRequest& request, const DeviceCallPlace& place,
                               std::shared_ptr<WorkCompletion> completion,
                               std::shared_ptr<const WorkCompletion> after) override;

  bool is_enqueued(const Completion& completion) const override;
  Status let_wait(const Completion& completion, DeviceStream stream) override;

 private:
  struct Operation;
  class Tracker;

  DeviceGroupLane(HeldCommunicator& held, Device& device, EventPool& events,
                  std::unique_ptr<DeviceGroup> group);

  bool drive(TimePoint now) override;

  Operation& first() const;
  bool enqueue_next();
  Status enqueue(Operation& operation);
  Status finish_enqueuing(Operation& operation);
  void end(Operation& operation, const Status& how);
  bool end_drained(TimePoint now);
  void check_deadline(TimePoint now);

  std::unique_ptr<DeviceGroup> group_;
  DeviceStream stream_ = nullptr;
  const std::unique_ptr<Tracker> tracker_;
  bool is_stopped_ = false;
};

}  // namespace paceline
