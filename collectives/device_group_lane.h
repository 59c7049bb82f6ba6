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

#include <deque>
#include <memory>
#include <vector>

#include <paceline/status.h>

#include "collectives/device_lane.h"
#include "collectives/held_communicator.h"
#include "comm/completion.h"
#include "comm/device/device.h"
#include "comm/device/device_group.h"
#include "comm/engine.h"

namespace paceline {

class DeviceGroupLane final : public DeviceLane, private Driver {
 public:
  /// All but the group are borrowed. The group is ready.
  static Result<std::unique_ptr<DeviceGroupLane>> make(HeldCommunicator& held, Device& device,
                                                       EventPool& events,
                                                       std::unique_ptr<DeviceGroup> group);
  ~DeviceGroupLane() override;
  DeviceGroupLane(const DeviceGroupLane&) = delete;
  DeviceGroupLane& operator=(const DeviceGroupLane&) = delete;

  const Device& device() const { return device_; }

  Result<OperationStage*> take(const OperationRequest& request, const DeviceCallPlace& place,
                               std::shared_ptr<WorkCompletion> completion,
                               std::shared_ptr<const WorkCompletion> after) override;
  void leave() override;

  bool is_enqueued(const Completion& completion) const override;
  Status let_wait(const Completion& completion, DeviceStream stream) override;

 private:
  struct Operation;
  class Tracker;

  DeviceGroupLane(HeldCommunicator& held, Device& device, EventPool& events,
                  std::unique_ptr<DeviceGroup> group);

  bool drive(TimePoint now) override;
  TimePoint wake_at() const override { return wake_at_; }

  Status begin(Operation& operation, const DeviceCallPlace& place);
  bool enqueue_next();
  Status enqueue(Operation& operation);
  Status finish_enqueuing(Operation& operation);
  void end(Operation& operation, const Status& how);
  bool end_drained(TimePoint now);
  void check_deadline(TimePoint now);
  void note(Status how);
  bool has_passed(DeviceEvent event);
  std::unique_ptr<Operation> remove_first();
  const Operation* operation_of(const Completion& completion) const;

  HeldCommunicator& held_;
  Device& device_;
  Engine& engine_;
  std::unique_ptr<DeviceGroup> group_;
  DeviceStream stream_ = nullptr;
  EventPool& events_;
  std::deque<std::unique_ptr<Operation>> operations_;  // until they end, the oldest first
  const std::unique_ptr<Tracker> tracker_;
  Status failure_;  // of the device or the library
  bool is_stopped_ = false;
  bool is_lost_ = false;         // the device does not answer
  bool is_left_behind_ = false;  // calls may still run
  bool is_attached_ = false;
  PollPace pace_;
  TimePoint wake_at_ = TimePoint::max();
};

}  // namespace paceline
