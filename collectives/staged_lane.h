// Carries out operations on the memory of one device by operations on host memory, in the
// background.
//
//   caller's stream        called
//   stream down              +--- copy ---> ready                    (up to kSlots rounds ahead)
//   queue of operations                       +--- round runs ---+
//   stream up                                                    +--- copy ---> finished
//
// An operation has its place in the queue from the call on. Its rounds (staged_rounds.h) are its
// parts there. A round begins once its copy is there. Copies go to and from kSlots places of
// pinned memory, which other ranks of the host reach directly.
//
// After an error no copy is enqueued. The operation ends when the copies that were enqueued are
// done, so its memory may be freed then. If they are not done after a second, because the device or
// the caller's stream is stuck, the operation ends nevertheless, and the slots are never freed.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include <paceline/status.h>

#include "collectives/backend/backend.h"
#include "collectives/device_lane.h"
#include "collectives/held_communicator.h"
#include "collectives/pinned_memory.h"
#include "collectives/staged_rounds.h"
#include "comm/completion.h"
#include "comm/device/device.h"
#include "comm/engine.h"

namespace paceline {

class StagedLane final : public DeviceLane {
 public:
  static constexpr std::size_t kSlots = 4;

  /// All are borrowed. An error says what the device cannot do.
  static Result<std::unique_ptr<StagedLane>> make(HeldCommunicator& held, Device& device,
                                                  EventPool& events);
  ~StagedLane() override;

  Result<OperationStage*> take(const OperationRequest& request, const DeviceCallPlace& place,
                               std::shared_ptr<WorkCompletion> completion,
                               std::shared_ptr<const WorkCompletion> after) override;

  bool is_enqueued(const Completion& completion) const override;
  Status let_wait(const Completion& completion, DeviceStream stream) override;

 private:
  struct Round;
  struct Operation;
  // An event of one of the lane's streams.
  struct Mark {
    DeviceEvent event = nullptr;
    bool is_recorded = false;  // since it was last reset
  };
  struct Slot {
    std::span<std::byte> memory{};
    Mark down{};
    Mark up{};
  };

  StagedLane(HeldCommunicator& held, Device& device, EventPool& events);

  bool drive(TimePoint now) override;

  Status open();
  Operation& at(std::size_t index) const;
  bool copy_next_down();
  Status copy_down(Operation& operation, Round& round, Slot& slot);
  bool end_round(Operation& operation);
  void end(Operation& operation, const Status& how);
  Status copy_up(Round& round);
  bool note_ready();
  bool end_finished(TimePoint now);
  bool is_drained(const Operation& operation);
  void check_deadline(TimePoint now);
  bool awaits_device() const;

  Status record(Mark& mark, DeviceStream stream);
  bool has_passed(const Mark& mark);

  const std::size_t slot_bytes_;
  PinnedMemory memory_;
  DeviceStream down_ = nullptr;
  DeviceStream up_ = nullptr;
  std::array<Slot, kSlots> slots_{};
  // Rounds since the beginning.
  std::size_t copied_down_ = 0;
  std::size_t ended_ = 0;
};

}  // namespace paceline
