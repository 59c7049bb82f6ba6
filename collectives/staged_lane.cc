#include "collectives/staged_lane.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "collectives/group_members.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

// Copies take milliseconds. They take longer only if the caller's stream or the device is stuck.
constexpr Duration kDrainTime = std::chrono::seconds(1);

}  // namespace

struct StagedLane::Round {
  StagedRound staged;                 // its request is empty until it is copied down
  std::span<std::byte> own_memory{};  // if it does not fit into a slot
  std::byte* memory = nullptr;
  Slot* slot = nullptr;  // once it is copied down
  bool is_ready = false;
};

struct StagedLane::Operation final : LaneOperation {
  Operation(StagedLane& of, const OperationRequest& request, int rank, int ranks)
      : LaneOperation(request),
        lane(of),
        work(request, rank, ranks, of.slot_bytes_),
        read(work.read()),
        written(work.written()),
        rounds(work.size()) {}
  ~Operation() override {
    for (const Round& round : rounds)
      if (!round.own_memory.empty()) lane.memory_.give_back(round.own_memory);
  }

  OperationRequest* next_part() override {
    Round& next = rounds[ended];
    return next.is_ready ? &next.staged.request : nullptr;
  }
  bool end_part() override { return lane.end_round(*this); }
  void end(const Status& how) override { lane.end(*this, how); }

  bool has_run() const { return ended == rounds.size(); }
  bool is_enqueued() const { return is_over && has_finish; }

  StagedLane& lane;
  // Borrows nothing of the caller but the buffers.
  const StagedRounds work;
  const StagedExtent read;
  const StagedExtent written;
  std::deque<Round> rounds;
  std::size_t copied_down = 0;  // rounds
  std::size_t ended = 0;        // rounds
  bool has_finish = false;      // `finished` is recorded
};

StagedLane::StagedLane(HeldCommunicator& held, Device& device, EventPool& events)
    : DeviceLane(held, device, events, kDrainTime),
      slot_bytes_(held.parts().device_slot_bytes),
      memory_(device) {}

Result<std::unique_ptr<StagedLane>> StagedLane::make(HeldCommunicator& held, Device& device,
                                                     EventPool& events) {
  std::unique_ptr<StagedLane> lane(new StagedLane(held, device, events));
  PACELINE_TRY(lane->open());
  return lane;
}

Status StagedLane::open() {
  PACELINE_TRY_ASSIGN(down_, device_.make_stream());
  PACELINE_TRY_ASSIGN(up_, device_.make_stream());
  for (Slot& slot : slots_) {
    PACELINE_TRY_ASSIGN(slot.memory, memory_.take(slot_bytes_));
    PACELINE_TRY_ASSIGN(slot.down.event, device_.make_event());
    PACELINE_TRY_ASSIGN(slot.up.event, device_.make_event());
  }
  return {};
}

StagedLane::~StagedLane() {
  if (is_left_behind_) {
    memory_.leave_behind();
    events_.leave_behind();
    return;
  }
  for (const Slot& slot : slots_) {
    if (!slot.memory.empty()) memory_.give_back(slot.memory);
    if (slot.down.event != nullptr) device_.destroy_event(slot.down.event);
    if (slot.up.event != nullptr) device_.destroy_event(slot.up.event);
  }
  if (down_ != nullptr) device_.destroy_stream(down_);
  if (up_ != nullptr) device_.destroy_stream(up_);
}

// ---- Events ----

Status StagedLane::record(Mark& mark, DeviceStream stream) {
  mark.is_recorded = false;
  PACELINE_TRY(device_.record(mark.event, stream));
  mark.is_recorded = true;
  return {};
}

// The driver calls an event passed that was not recorded.
bool StagedLane::has_passed(const Mark& mark) {
  return mark.is_recorded && DeviceLane::has_passed(mark.event);
}

// ---- A call ----

StagedLane::Operation& StagedLane::at(std::size_t index) const {
  return static_cast<Operation&>(*operations_[index]);
}

Result<OperationStage*> StagedLane::take(const OperationRequest& request,
                                         const DeviceCallPlace& place,
                                         std::shared_ptr<WorkCompletion> completion,
                                         std::shared_ptr<const WorkCompletion> after) {
  if (place.is_captured)
    return Status(Code::kInvalidArgument, Scope::kOperation,
                  call_text(request.signature) +
                      " cannot become part of a graph: it is carried out by the CPU, through host "
                      "memory; call it outside of the capture");
  const Group& group = held_.parts().group;
  PACELINE_TRY_ASSIGN(OperationStage* const stage,
                      add(std::make_unique<Operation>(*this, request, group.rank, group.size()),
                          place, std::move(completion), std::move(after)));
  while (copy_next_down()) continue;
  return stage;
}

// ---- Down ----

// Enqueues the copy of the next round, if its slot is free and its data is there. True if it has.
bool StagedLane::copy_next_down() {
  if (!failure_.ok() || copied_down_ - ended_ >= kSlots) return false;
  std::size_t index = 0;
  const auto has_all = [](const Operation& one) {
    return !one.failure.ok() || one.copied_down == one.rounds.size();
  };
  while (index < operations_.size() && has_all(at(index))) ++index;
  if (index == operations_.size()) return false;
  Operation& operation = at(index);
  if (operation.copied_down == 0) {
    if (!paceline::is_enqueued(operation.after)) return false;
    note(paceline::let_wait(operation.after, down_));
    operation.after = nullptr;
    // The result of an operation before may be the input.
    for (std::size_t before = 0; before < index; ++before) {
      if (!at(before).written.overlaps(operation.read)) continue;
      if (!at(before).is_enqueued()) return false;
      note(device_.let_wait(down_, at(before).finished));
    }
    note(device_.let_wait(down_, operation.called));
  }
  Round& round = operation.rounds[operation.copied_down];
  note(copy_down(operation, round, slots_[copied_down_ % kSlots]));
  ++operation.copied_down;
  ++copied_down_;
  return failure_.ok();
}

Status StagedLane::copy_down(Operation& operation, Round& round, Slot& slot) {
  round.staged = operation.work.at(operation.copied_down);
  round.slot = &slot;
  round.memory = slot.memory.data();
  slot.down.is_recorded = false;
  if (round.staged.bytes > slot_bytes_) {
    PACELINE_TRY_ASSIGN(round.own_memory, memory_.take(round.staged.bytes));
    round.memory = round.own_memory.data();
  }
  round.staged.place(round.memory);
  if (slot.up.is_recorded) PACELINE_TRY(device_.let_wait(down_, slot.up.event));
  for (const StagedCopy& copy : round.staged.down)
    PACELINE_TRY(device_.copy_down(round.memory + copy.at, copy.device, copy.bytes, down_));
  return record(slot.down, down_);
}

// ---- Up ----

// A round has ended well. True: there is another one.
bool StagedLane::end_round(Operation& operation) {
  note(copy_up(operation.rounds[operation.ended]));
  ++operation.ended;
  ++ended_;
  return !operation.has_run();
}

void StagedLane::end(Operation& operation, const Status& how) {
  operation.is_over = true;
  operation.failure = how;
  ended_ += operation.rounds.size() - operation.ended;
  if (operation.has_run()) {
    const Status recorded = device_.record(operation.finished, up_);
    operation.has_finish = recorded.ok();
    note(recorded);
  }
  if (operation.failure.ok() && failure_.ok()) return;
  operation.drained_by = std::min(operation.drained_by, engine_.clock().now() + kDrainTime);
  wake_at_ = TimePoint::min();
}

Status StagedLane::copy_up(Round& round) {
  for (const StagedCopy& copy : round.staged.up)
    PACELINE_TRY(device_.copy_up(const_cast<std::byte*>(copy.device), round.memory + copy.at,
                                 copy.bytes, up_));
  return record(round.slot->up, up_);
}

// ---- Progress ----

bool StagedLane::drive(TimePoint now) {
  bool moved = note_ready();
  while (copy_next_down()) moved = true;
  moved |= end_finished(now);
  check_deadline(now);
  if (!failure_.ok()) held_.fail(failure_);
  wake_at_ = awaits_device() ? pace_.next(moved, now) : TimePoint::max();
  if (operations_.empty()) stop_driving();
  return moved;
}

// Lets the rounds begin whose data has arrived, in their order.
bool StagedLane::note_ready() {
  bool moved = false;
  for (std::size_t index = 0; index < operations_.size(); ++index) {
    Operation& operation = at(index);
    for (std::size_t i = operation.ended; i < operation.copied_down; ++i) {
      Round& round = operation.rounds[i];
      if (round.is_ready) continue;
      if (!failure_.ok() || !has_passed(round.slot->down)) return moved;
      round.is_ready = moved = true;
    }
    if (operation.copied_down < operation.rounds.size()) break;
  }
  return moved;
}

// Ends the oldest operations whose copies are done.
bool StagedLane::end_finished(TimePoint now) {
  bool moved = false;
  while (!operations_.empty() && operations_.front()->is_over) {
    const Operation& oldest = at(0);
    const bool is_done = is_drained(oldest);
    if (!is_done && !is_lost_ && now < oldest.drained_by) break;
    is_left_behind_ = is_left_behind_ || !is_done;
    end_first();
    moved = true;
  }
  return moved;
}

// Has the device done all that was enqueued for it?
bool StagedLane::is_drained(const Operation& operation) {
  if (operation.failure.ok())
    return operation.has_finish && DeviceLane::has_passed(operation.finished);
  // Rounds that have not begun may still be copied down, and others up.
  for (std::size_t i = 0; i < operation.copied_down; ++i) {
    const Round& round = operation.rounds[i];
    if (!round.is_ready && !has_passed(round.slot->down)) return false;
    if (i < operation.ended && !has_passed(round.slot->up)) return false;
  }
  return true;
}

// While an operation waits for other ranks, the queue judges it.
void StagedLane::check_deadline(TimePoint now) {
  if (operations_.empty() || now < operations_.front()->deadline || !awaits_device()) return;
  const Operation& late = at(0);
  const bool has_begun = DeviceLane::has_passed(late.called);
  note(Status(Code::kTimeout, Scope::kGroup,
              has_begun ? "the copies of " + late.text() + " by " + device_.name() +
                              " have not ended within the timeout"
                        : "the work before " + late.text() + " on its stream of " + device_.name() +
                              " has not ended within the timeout"));
}

// Is it the device that the oldest operation waits for?
bool StagedLane::awaits_device() const {
  if (operations_.empty()) return false;
  const Operation& oldest = at(0);
  if (oldest.is_over) return true;
  return oldest.ended < oldest.copied_down && !oldest.rounds[oldest.ended].is_ready;
}

// ---- For others ----

// After an error only the end is left to wait for.
bool StagedLane::is_enqueued(const Completion& completion) const {
  const auto* const operation = static_cast<const Operation*>(operation_of(completion));
  return operation == nullptr ||
         (operation->is_enqueued() && operation->failure.ok() && failure_.ok());
}

Status StagedLane::let_wait(const Completion& completion, DeviceStream stream) {
  const LaneOperation* const operation = operation_of(completion);
  return operation == nullptr ? Status() : device_.let_wait(stream, operation->finished);
}

}  // namespace paceline
