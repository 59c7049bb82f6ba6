#include "collectives/device/staged_lane.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include <sys/mman.h>

#include "collectives/operation_stage.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

// How often events are looked at: soon after something has moved, then less and less often.
constexpr Duration kPollSoon = std::chrono::microseconds(5);
constexpr Duration kPollAtLeast = std::chrono::microseconds(100);
// Copies take milliseconds. They take longer only if the caller's stream or the device is stuck.
constexpr Duration kLeavingTime = std::chrono::seconds(1);

// What copies touch on the device: from the first byte to the last.
struct Extent {
  void add(const std::vector<StagedCopy>& copies) {
    for (const StagedCopy& copy : copies) {
      const auto from = reinterpret_cast<std::uintptr_t>(copy.device);
      begin = std::min(begin, from);
      end = std::max(end, from + copy.bytes);
    }
  }
  bool overlaps(const Extent& other) const { return begin < other.end && other.begin < end; }

  std::uintptr_t begin = UINTPTR_MAX;
  std::uintptr_t end = 0;
};

}  // namespace

class StagedLane::Round final : public OperationStage {
 public:
  Round(StagedLane& lane, Operation& of, StagedRound work)
      : operation(of), staged(std::move(work)), lane_(lane) {}

  bool is_ready() const override { return ready; }
  void end(const Status& how) override { lane_.end_round(*this, how); }

  Operation& operation;
  StagedRound staged;
  Memory own_memory{};  // if it does not fit into a slot
  std::byte* memory = nullptr;
  Slot* slot = nullptr;  // once it is copied down
  bool ready = false;

 private:
  StagedLane& lane_;
};

struct StagedLane::Operation {
  DeviceStream stream = nullptr;  // the caller's
  std::string text;               // for messages
  const std::shared_ptr<WorkCompletion> completion = std::make_shared<WorkCompletion>();
  std::deque<std::unique_ptr<Round>> rounds;
  Extent read;
  Extent written;
  DeviceEvent called = nullptr;    // on the caller's stream
  DeviceEvent finished = nullptr;  // behind the last copy up
  TimePoint deadline{};            // of the caller's stream
  std::size_t copied_down = 0;     // rounds
  std::size_t ended = 0;           // rounds
  bool is_enqueued = false;        // the device has all that it must do
  TimePoint drained_by = TimePoint::max();  // after an error
  Status failure;
};

StagedLane::StagedLane(HeldCommunicator& held, Device& device)
    : held_(held),
      device_(device),
      slot_bytes_(held.parts().device_slot_bytes),
      engine_(*held.parts().engine),
      domain_(MemoryDomain::of_process()) {}

Result<std::unique_ptr<StagedLane>> StagedLane::make(HeldCommunicator& held, Device& device) {
  std::unique_ptr<StagedLane> lane(new StagedLane(held, device));
  PACELINE_TRY(lane->open());
  return lane;
}

Status StagedLane::open() {
  PACELINE_TRY_ASSIGN(down_, device_.make_stream());
  PACELINE_TRY_ASSIGN(up_, device_.make_stream());
  for (Slot& slot : slots_) {
    PACELINE_TRY_ASSIGN(slot.memory, allocate(slot_bytes_));
    PACELINE_TRY_ASSIGN(slot.down, device_.make_event());
    PACELINE_TRY_ASSIGN(slot.up, device_.make_event());
  }
  return {};
}

StagedLane::~StagedLane() {
  if (is_left_behind_) return;
  for (const Slot& slot : slots_) {
    if (!slot.memory.bytes.empty()) free(slot.memory);
    if (slot.down != nullptr) device_.destroy_event(slot.down);
    if (slot.up != nullptr) device_.destroy_event(slot.up);
  }
  for (const DeviceEvent event : spare_events_) device_.destroy_event(event);
  if (down_ != nullptr) device_.destroy_stream(down_);
  if (up_ != nullptr) device_.destroy_stream(up_);
}

Result<StagedLane::Memory> StagedLane::allocate(std::size_t bytes) {
  Memory memory;
  if (const auto shared = domain_.allocate(bytes); shared.ok()) {
    memory = {.bytes = *shared, .is_in_domain = true};
  } else {
    void* const own = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                             -1, 0);
    if (own == MAP_FAILED) return shared.status();
    memory.bytes = {static_cast<std::byte*>(own), bytes};
  }
  if (const Status pinned = device_.pin(memory.bytes); !pinned.ok()) {
    give_back(memory);
    return pinned;
  }
  return memory;
}

void StagedLane::free(const Memory& memory) {
  device_.unpin(memory.bytes);
  give_back(memory);
}

void StagedLane::give_back(const Memory& memory) {
  if (memory.is_in_domain) {
    (void)domain_.free(memory.bytes.data());
  } else {
    ::munmap(memory.bytes.data(), memory.bytes.size());
  }
}

Result<DeviceEvent> StagedLane::take_event() {
  if (spare_events_.empty()) return device_.make_event();
  const DeviceEvent event = spare_events_.back();
  spare_events_.pop_back();
  return event;
}

// ---- A call ----

std::shared_ptr<const WorkCompletion> StagedLane::start(const OperationRequest& request) {
  const Group& group = held_.parts().group;
  auto operation = std::make_unique<Operation>();
  const std::shared_ptr<WorkCompletion> completion = operation->completion;
  operation->stream = request.stream;
  operation->text = request.signature.to_string();
  const StagedRounds rounds(request, group.rank, group.size(), slot_bytes_);
  Status refused = held_.queue().check_room(rounds.size());
  if (refused.ok()) refused = begin(*operation);
  if (!refused.ok()) {
    completion->end(std::move(refused));
    return completion;
  }
  Operation& added = *operations_.emplace_back(std::move(operation));
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    Round& round = *added.rounds.emplace_back(std::make_unique<Round>(*this, added, rounds.at(i)));
    added.read.add(round.staged.down);
    added.written.add(round.staged.up);
  }
  completion->order = this;
  completion->owner = &held_.owner();
  engine_.begin_background();
  if (!std::exchange(is_attached_, true)) engine_.attach(*this);
  poll_every_ = kPollSoon;
  wake_at_ = TimePoint::min();
  while (copy_next_down()) continue;
  // All of them at once, so that no other call comes between them.
  for (const auto& round : added.rounds) held_.start_staged(round->staged.request, *round);
  return completion;
}

// Marks where the operation begins in the caller's stream.
Status StagedLane::begin(Operation& operation) {
  PACELINE_TRY_ASSIGN(const bool is_captured, device_.is_captured(operation.stream));
  if (is_captured)
    return Status(Code::kInvalidArgument, Scope::kOperation,
                  operation.text +
                      " cannot become part of a graph: it is carried out by the CPU, through host "
                      "memory; call it outside of the capture");
  PACELINE_TRY_ASSIGN(operation.called, take_event());
  PACELINE_TRY_ASSIGN(operation.finished, take_event());
  PACELINE_TRY(device_.record(operation.called, operation.stream));
  operation.deadline = Deadline::after(engine_.clock(), held_.queue().timeout()).moment();
  return {};
}

// ---- Down ----

// Enqueues the copy of the next round, if its slot is free and its data is there. True if it has.
bool StagedLane::copy_next_down() {
  if (!failure_.ok() || copied_down_ - ended_ >= kSlots) return false;
  const auto found = std::ranges::find_if(operations_, [](const auto& one) {
    return one->failure.ok() && one->copied_down < one->rounds.size();
  });
  if (found == operations_.end()) return false;
  Operation& operation = **found;
  Round& round = *operation.rounds[operation.copied_down];
  if (operation.copied_down == 0) {
    // The result of an operation before may be the input.
    const auto is_before = [&](const auto& one) { return one->written.overlaps(operation.read); };
    for (auto before = operations_.begin(); before != found; ++before)
      if (is_before(*before) && !(*before)->is_enqueued) return false;
    for (auto before = operations_.begin(); before != found; ++before)
      if (is_before(*before)) note(device_.let_wait(down_, (*before)->finished));
    note(device_.let_wait(down_, operation.called));
  }
  note(copy_down(round, slots_[copied_down_ % kSlots]));
  ++operation.copied_down;
  ++copied_down_;
  return failure_.ok();
}

Status StagedLane::copy_down(Round& round, Slot& slot) {
  round.slot = &slot;
  std::byte* memory = slot.memory.bytes.data();
  if (round.staged.bytes > slot_bytes_) {
    PACELINE_TRY_ASSIGN(round.own_memory, allocate(round.staged.bytes));
    memory = round.own_memory.bytes.data();
  }
  round.memory = memory;
  round.staged.place(memory);
  if (slot.has_copied_up) PACELINE_TRY(device_.let_wait(down_, slot.up));
  for (const StagedCopy& copy : round.staged.down)
    PACELINE_TRY(device_.copy_down(memory + copy.at, copy.device, copy.bytes, down_));
  return device_.record(slot.down, down_);
}

// ---- Up ----

void StagedLane::end_round(Round& round, const Status& how) {
  Operation& operation = round.operation;
  if (operation.failure.ok()) operation.failure = how;
  if (operation.failure.ok()) note(copy_up(round));
  ++operation.ended;
  ++ended_;
  if (operation.ended < operation.rounds.size()) return;
  note(device_.record(operation.finished, up_));
  operation.is_enqueued = true;
  if (!operation.failure.ok()) operation.drained_by = engine_.clock().now() + kLeavingTime;
}

Status StagedLane::copy_up(Round& round) {
  for (const StagedCopy& copy : round.staged.up)
    PACELINE_TRY(device_.copy_up(const_cast<std::byte*>(copy.device), round.memory + copy.at,
                                 copy.bytes, up_));
  PACELINE_TRY(device_.record(round.slot->up, up_));
  round.slot->has_copied_up = true;
  return {};
}

// ---- Progress ----

bool StagedLane::drive(TimePoint now) {
  bool moved = note_ready(now);
  while (copy_next_down()) moved = true;
  moved |= end_finished(now);
  if (!failure_.ok()) held_.fail(failure_);
  poll_every_ = moved ? kPollSoon : std::min(2 * poll_every_, kPollAtLeast);
  wake_at_ = now + poll_every_;
  if (operations_.empty()) {
    engine_.detach(*this);
    is_attached_ = false;
    wake_at_ = TimePoint::max();
  }
  return moved;
}

// The rounds whose data has arrived, in their order.
bool StagedLane::note_ready(TimePoint now) {
  bool moved = false;
  if (!failure_.ok()) return false;  // events may not have been recorded
  for (const auto& operation : operations_) {
    for (std::size_t i = operation->ended; i < operation->copied_down; ++i) {
      Round& round = *operation->rounds[i];
      if (round.ready) continue;
      if (!has_passed(round.slot->down)) return note_late(*operation, now) || moved;
      round.ready = moved = true;
    }
    if (operation->copied_down < operation->rounds.size()) break;
  }
  return moved;
}

// True if the caller's stream has taken too long.
bool StagedLane::note_late(const Operation& operation, TimePoint now) {
  if (now < operation.deadline || !failure_.ok() || operation.ended > 0) return false;
  note(Status(Code::kTimeout, Scope::kGroup,
              "what was enqueued on the stream of " + operation.text + ", on " + device_.name() +
                  ", before the call has not ended within the timeout"));
  return true;
}

// The oldest operations whose copies are done.
bool StagedLane::end_finished(TimePoint now) {
  bool moved = false;
  while (!operations_.empty() && operations_.front()->is_enqueued) {
    const bool is_done = is_drained(*operations_.front());
    if (!is_done && failure_.ok() && now < operations_.front()->drained_by) break;
    is_left_behind_ = is_left_behind_ || !is_done;
    end_operation(now);
    moved = true;
  }
  return moved;
}

// Has the device done all that was enqueued for it?
bool StagedLane::is_drained(const Operation& operation) {
  if (!has_passed(operation.finished)) return false;
  if (operation.failure.ok()) return true;
  // Rounds that have not begun may still be copied down.
  for (std::size_t i = 0; i < operation.copied_down; ++i)
    if (!operation.rounds[i]->ready && !has_passed(operation.rounds[i]->slot->down)) return false;
  return true;
}

void StagedLane::end_operation(TimePoint now) {
  const std::unique_ptr<Operation> operation = std::move(operations_.front());
  operations_.pop_front();
  spare_events_.push_back(operation->called);
  spare_events_.push_back(operation->finished);
  for (const auto& round : operation->rounds)
    if (!round->own_memory.bytes.empty() && !is_left_behind_) free(round->own_memory);
  Status how = operation->failure.ok() ? failure_ : operation->failure;
  held_.queue().count_wait(*operation->completion, now);
  operation->completion->order = nullptr;
  operation->completion->end(std::move(how));
  engine_.end_background();
}

bool StagedLane::has_passed(DeviceEvent event) {
  Result<bool> passed = device_.has_passed(event);
  if (!passed.ok()) note(passed.status());
  return passed.ok() && *passed;
}

// An error of the device ends the communicator, when it is driven next.
void StagedLane::note(Status how) {
  if (failure_.ok()) failure_ = std::move(how);
}

// ---- For others ----

Status StagedLane::let_wait(const Completion& completion, DeviceStream stream) {
  const auto is_its = [&](const auto& one) { return one->completion.get() == &completion; };
  const auto found = std::ranges::find_if(operations_, is_its);
  return found == operations_.end() ? Status() : device_.let_wait(stream, (*found)->finished);
}

bool StagedLane::is_enqueued(const Completion& completion) const {
  const auto is_its = [&](const auto& one) { return one->completion.get() == &completion; };
  const auto found = std::ranges::find_if(operations_, is_its);
  return found == operations_.end() || (*found)->is_enqueued;
}

void StagedLane::leave() {
  const auto is_done = [this] { return operations_.empty(); };
  const bool done = engine_.wait(is_done, Deadline::after(engine_.clock(), 2 * kLeavingTime));
  const Engine::Baton baton = engine_.hold();
  if (std::exchange(is_attached_, false)) engine_.detach(*this);
  if (done) return;
  is_left_behind_ = true;
  while (!operations_.empty()) end_operation(engine_.clock().now());
}

}  // namespace paceline
