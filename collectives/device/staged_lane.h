// Carries out operations on the memory of one device by operations on host memory, in the
// background.
//
//   stream of the caller ── called ──┐
//   stream `down`          copy ─────┴─> ready ─┐                 (up to kSlots rounds ahead)
//   queue of operations                         └─> round runs ─┐
//   stream `up`                                                 └─> copy ─> finished ── wait_on()
//
// The rounds of an operation (staged_rounds.h) enter the queue at the call, so their order between
// the operations of other calls is the order of the calls. A round begins once its copy is there.
// Each copy goes to or from one of kSlots places of pinned memory that peers of the host reach.
//
// After an error no copy is enqueued. The operation ends when those that were are done, so its
// memory may be freed then. Copies down that wait for a stream that is stuck are not waited for.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include <paceline/status.h>

#include "collectives/backend/backend.h"
#include "collectives/device/staged_rounds.h"
#include "collectives/held_communicator.h"
#include "comm/completion.h"
#include "comm/device/device.h"
#include "comm/engine.h"
#include "comm/memory_domain.h"

namespace paceline {

class StagedLane final : public StreamOrder, private Driver {
 public:
  static constexpr std::size_t kSlots = 4;

  /// Both are borrowed. An error says what the device cannot do.
  static Result<std::unique_ptr<StagedLane>> make(HeldCommunicator& held, Device& device);
  /// Call leave() before.
  ~StagedLane() override;
  StagedLane(const StagedLane&) = delete;
  StagedLane& operator=(const StagedLane&) = delete;

  const Device& device() const { return device_; }

  /// Starts an operation that the communicator accepts, in the order of request.stream. With the
  /// engine's baton held.
  std::shared_ptr<const WorkCompletion> start(const OperationRequest& request);
  /// Waits until no copy is on its way, for a second or two. What is not done then is never freed.
  /// All operations of the communicator have ended. Without the baton.
  void leave();

  bool is_enqueued(const Completion& completion) const override;
  Status let_wait(const Completion& completion, DeviceStream stream) override;

 private:
  class Round;
  struct Operation;
  // Pinned. In the process's memory domain if that has room: peers of the host reach it there.
  struct Memory {
    std::span<std::byte> bytes{};
    bool is_in_domain = false;
  };
  struct Slot {
    Memory memory{};
    DeviceEvent down = nullptr;
    DeviceEvent up = nullptr;
    bool has_copied_up = false;
  };

  StagedLane(HeldCommunicator& held, Device& device);

  bool drive(TimePoint now) override;
  TimePoint wake_at() const override { return wake_at_; }

  Status open();
  Status begin(Operation& operation);
  bool copy_next_down();
  Status copy_down(Round& round, Slot& slot);
  void end_round(Round& round, const Status& how);
  Status copy_up(Round& round);
  bool note_ready(TimePoint now);
  bool note_late(const Operation& operation, TimePoint now);
  bool end_finished(TimePoint now);
  bool is_drained(const Operation& operation);
  void end_operation(TimePoint now);
  bool has_passed(DeviceEvent event);
  void note(Status how);
  Result<DeviceEvent> take_event();
  Result<Memory> allocate(std::size_t bytes);
  void free(const Memory& memory);
  void give_back(const Memory& memory);

  HeldCommunicator& held_;
  Device& device_;
  const std::size_t slot_bytes_;
  Engine& engine_;
  MemoryDomain& domain_;
  DeviceStream down_ = nullptr;
  DeviceStream up_ = nullptr;
  std::array<Slot, kSlots> slots_{};
  std::vector<DeviceEvent> spare_events_;
  std::deque<std::unique_ptr<Operation>> operations_;  // until they end, the oldest first
  // Of rounds, since the beginning.
  std::size_t copied_down_ = 0;
  std::size_t ended_ = 0;
  Status failure_;  // of the device
  bool is_attached_ = false;
  bool is_left_behind_ = false;  // copies do not end
  Duration poll_every_{};
  TimePoint wake_at_ = TimePoint::max();
};

}  // namespace paceline
