#include "collectives/device_group_lane.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "collectives/device_calls.h"
#include "collectives/group_members.h"
#include "comm/base/digest.h"
#include "comm/base/random.h"
#include "comm/base/try.h"
#include "comm/exit.h"

namespace paceline {
namespace {

// How long an operation may take after a rank was lost.
constexpr Duration kLossPatience = std::chrono::milliseconds(200);
// How long a stopped library may take to end what was enqueued.
constexpr Duration kStopTime = std::chrono::seconds(5);

// Of all that ranks must pass alike beyond the signature.
std::uint32_t digest_of_call(const OperationRequest& request, int ranks) {
  std::uint64_t mixed = digest("by a device library") ^ request.call_digest;
  if (request.counts != nullptr)
    for (int rank = 0; rank < ranks; ++rank) mixed = Random(mixed ^ request.counts[rank]).next();
  return static_cast<std::uint32_t>(mixed);
}

// The request as the queue sees it: without memory.
OperationRequest tracked_request(const OperationRequest& request, int ranks) {
  OperationRequest made{.signature = request.signature};
  made.call_digest = digest_of_call(request, ranks);
  return made;
}

}  // namespace

struct DeviceGroupLane::Operation final : OperationStage {
  enum class State {
    kCalled,
    kEnqueuing,  // the library has not ended its calls
    kEnqueued,
  };

  Operation(DeviceGroupLane& of, const OperationRequest& from)
      : lane(of),
        request(tracked_request(from, of.held_.parts().group.size())),
        calls(device_calls(from, of.held_.parts().group.rank, of.held_.parts().group.size())),
        stream(from.stream),
        text(call_text(from.signature)) {}

  OperationRequest* next_part() override;
  CollectiveBackend* backend() override;
  bool end_part() override { return false; }
  void end(const Status& how) override { lane.end(*this, how); }

  DeviceGroupLane& lane;
  OperationRequest request;
  const std::vector<DeviceCall> calls;
  const DeviceStream stream;  // the caller's
  const std::string text;
  std::shared_ptr<WorkCompletion> completion;
  std::shared_ptr<const WorkCompletion> after;
  State state = State::kCalled;
  bool is_captured = false;  // enqueued in the caller's stream, and over once that is done
  bool has_ended = false;    // in the queue
  DeviceEvent called = nullptr;
  DeviceEvent finished = nullptr;
  TimePoint deadline{};
  TimePoint drained_by = TimePoint::max();  // after an error
  Status failure;
};

// Stands for the operation in the queue while the device carries it out.
class DeviceGroupLane::Tracker final : public CollectiveBackend {
 public:
  explicit Tracker(DeviceGroupLane& lane) : lane_(lane) {}

  std::string_view name() const override { return "device library"; }
  std::optional<std::size_t> most_bytes(OperationKind) const override { return {}; }
  std::size_t small_bytes() const override { return 0; }

  Status start(OperationRequest& request) override {
    const auto is_its = [&](const auto& one) { return &one->request == &request; };
    tracked_ = std::ranges::find_if(lane_.operations_, is_its)->get();
    request.set_plan(0);
    has_ended_ = false;
    outcome_ = {};
    lost_by_.reset();
    return {};
  }
  bool linger(const Clock&, TimePoint& now) override { return drive(now) && outcome_.ok(); }
  bool drive(TimePoint now) override {
    if (has_ended_ || tracked_ == nullptr) return false;
    has_ended_ = tracked_->state == Operation::State::kEnqueued &&
                 (tracked_->is_captured || lane_.has_passed(tracked_->finished));
    if (has_ended_) return true;
    outcome_ = error_of_loss(now);
    has_ended_ = !outcome_.ok();
    return has_ended_;
  }
  TimePoint wake_at() const override { return lane_.wake_at_; }
  bool ended() const override { return has_ended_; }
  bool is_running() const { return tracked_ != nullptr; }
  const Status& outcome() const override { return outcome_; }
  void finish() override { tracked_ = nullptr; }
  std::optional<Disagreement> disagreement() const override { return {}; }
  // The library does not say for which of them it waits.
  std::vector<int> awaited() const override {
    std::vector<int> others(static_cast<std::size_t>(lane_.held_.parts().group.size()));
    std::iota(others.begin(), others.end(), 0);
    std::erase(others, lane_.held_.parts().group.rank);
    return others;
  }

 private:
  // A rank that has done its part may leave while this rank's device is still at work. So a loss is
  // an error only if the operation does not end soon. An error of the library is mostly the loss of
  // a rank, which others know better.
  Status error_of_loss(TimePoint now) {
    Status loss;
    const Group& group = lane_.held_.parts().group;
    for (int peer = 0; loss.ok() && peer < group.size(); ++peer)
      if (peer != group.rank) loss = lane_.held_.parts().transport->loss(peer);
    const Status& error = loss.ok() ? lane_.failure_ : loss;
    if (error.ok()) return {};
    if (!lost_by_) lost_by_ = now + kLossPatience;
    return now >= *lost_by_ || lane_.is_lost_ ? error : Status();
  }

  DeviceGroupLane& lane_;
  const Operation* tracked_ = nullptr;
  std::optional<TimePoint> lost_by_;
  bool has_ended_ = false;
  Status outcome_;
};

OperationRequest* DeviceGroupLane::Operation::next_part() {
  // The library may wait for other ranks before it has enqueued the first calls.
  if (state == State::kCalled) return nullptr;
  return is_captured || lane.has_passed(called) ? &request : nullptr;
}

CollectiveBackend* DeviceGroupLane::Operation::backend() { return lane.tracker_.get(); }

DeviceGroupLane::DeviceGroupLane(HeldCommunicator& held, Device& device, EventPool& events,
                                 std::unique_ptr<DeviceGroup> group)
    : held_(held),
      device_(device),
      engine_(*held.parts().engine),
      group_(std::move(group)),
      events_(events),
      tracker_(std::make_unique<Tracker>(*this)) {}

Result<std::unique_ptr<DeviceGroupLane>> DeviceGroupLane::make(HeldCommunicator& held,
                                                               Device& device, EventPool& events,
                                                               std::unique_ptr<DeviceGroup> group) {
  std::unique_ptr<DeviceGroupLane> lane(
      new DeviceGroupLane(held, device, events, std::move(group)));
  PACELINE_TRY_ASSIGN(lane->stream_, device.make_stream());
  return lane;
}

DeviceGroupLane::~DeviceGroupLane() {
  // The library may still use its memory, and the driver may be gone.
  if (is_left_behind_) {
    (void)group_.release();
    events_.leave_behind();
    return;
  }
  group_.reset();
  if (stream_ != nullptr) device_.destroy_stream(stream_);
}

// ---- A call ----

Result<OperationStage*> DeviceGroupLane::take(const OperationRequest& request,
                                              const DeviceCallPlace& place,
                                              std::shared_ptr<WorkCompletion> completion,
                                              std::shared_ptr<const WorkCompletion> after) {
  auto operation = std::make_unique<Operation>(*this, request);
  operation->completion = std::move(completion);
  operation->after = std::move(after);
  operation->deadline = place.deadline;
  if (const Status begun = begin(*operation, place); !begun.ok()) {
    events_.give_back(operation->called);
    events_.give_back(operation->finished);
    return begun;
  }
  Operation& added = *operations_.emplace_back(std::move(operation));
  added.completion->order = this;
  added.completion->owner = &held_.owner();
  engine_.begin_background();
  if (!std::exchange(is_attached_, true)) engine_.attach(*this);
  pace_.hurry();
  wake_at_ = TimePoint::min();
  while (enqueue_next()) continue;
  return &added;
}

// Nothing may wait for an event of a stream that is captured, so there the calls go into the
// caller's stream.
Status DeviceGroupLane::begin(Operation& operation, const DeviceCallPlace& place) {
  operation.called = place.called;
  operation.is_captured = place.is_captured;
  if (!operation.is_captured) {
    PACELINE_TRY_ASSIGN(operation.finished, events_.take());
    return {};
  }
  if (operation.after == nullptr || operation.after->has_ended()) return {};
  return Status(Code::kInvalidArgument, Scope::kOperation,
                operation.text +
                    " cannot become part of a graph while an earlier operation runs through host "
                    "memory; wait for that one first");
}

// ---- Enqueuing ----

// Enqueues the next operation, or sees that the library has done so. True if it has.
bool DeviceGroupLane::enqueue_next() {
  if (!failure_.ok() || is_stopped_) return false;
  const Result<bool> ready = group_->is_ready();
  if (!ready.ok()) note(ready.status());
  if (!ready.ok() || !*ready) return false;
  const auto found = std::ranges::find_if(operations_, [](const auto& one) {
    return one->failure.ok() && one->state != Operation::State::kEnqueued;
  });
  if (found == operations_.end()) return false;
  Operation& operation = **found;
  if (operation.state == Operation::State::kEnqueuing) {
    note(finish_enqueuing(operation));
    return failure_.ok();
  }
  if (!paceline::is_enqueued(operation.after)) return false;
  note(enqueue(operation));
  return failure_.ok();
}

Status DeviceGroupLane::enqueue(Operation& operation) {
  const DeviceStream stream = operation.is_captured ? operation.stream : stream_;
  if (!operation.is_captured) {
    PACELINE_TRY(device_.let_wait(stream_, operation.called));
    PACELINE_TRY(paceline::let_wait(operation.after, stream_));
  }
  operation.after = nullptr;
  operation.state = Operation::State::kEnqueuing;
  return operation.calls.empty() ? Status() : group_->enqueue(operation.calls, stream);
}

Status DeviceGroupLane::finish_enqueuing(Operation& operation) {
  operation.state = Operation::State::kEnqueued;
  return operation.is_captured ? Status() : device_.record(operation.finished, stream_);
}

// ---- Progress ----

bool DeviceGroupLane::drive(TimePoint now) {
  bool moved = false;
  while (enqueue_next()) moved = true;
  moved |= end_drained(now);
  check_deadline(now);
  // While an operation is tracked, its backend reports the error.
  if (!failure_.ok() && !tracker_->is_running()) held_.fail(failure_);
  wake_at_ = operations_.empty() ? TimePoint::max() : pace_.next(moved, now);
  if (operations_.empty()) {
    engine_.detach(*this);
    is_attached_ = false;
  }
  return moved;
}

void DeviceGroupLane::note(Status how) {
  if (how.ok() || !failure_.ok()) return;
  const Group& group = held_.parts().group;
  failure_ = how.with_context(rank_text(group, group.rank));
  if (failure_.culprit().rank < 0 && failure_.code() != Code::kPeerLost)
    failure_ = failure_.with_culprit(culprit_of(group, group.rank));
}

bool DeviceGroupLane::has_passed(DeviceEvent event) {
  if (is_lost_) return false;
  const Result<bool> passed = device_.has_passed(event);
  if (passed.ok()) return *passed;
  is_lost_ = true;
  note(passed.status());
  return false;
}

// The queue has ended an operation. After an error it ends all others.
void DeviceGroupLane::end(Operation& operation, const Status& how) {
  operation.has_ended = true;
  operation.failure = how;
  if (how.ok()) {
    const std::unique_ptr<Operation> first = remove_first();
    first->completion->end({});
    return;
  }
  // When the process exits, the device ends its work.
  if (!std::exchange(is_stopped_, true) && !is_process_exiting()) group_->stop();
  operation.drained_by = engine_.clock().now() + kStopTime;
  wake_at_ = TimePoint::min();
}

std::unique_ptr<DeviceGroupLane::Operation> DeviceGroupLane::remove_first() {
  std::unique_ptr<Operation> first = std::move(operations_.front());
  operations_.pop_front();
  events_.give_back(first->called);
  events_.give_back(first->finished);
  held_.queue().count_wait(*first->completion, engine_.clock().now());
  first->completion->order = nullptr;
  engine_.end_background();
  return first;
}

// Ends failed operations that use no memory any more.
bool DeviceGroupLane::end_drained(TimePoint now) {
  bool moved = false;
  while (!operations_.empty() && operations_.front()->has_ended) {
    const Operation& oldest = *operations_.front();
    const bool was_enqueued = oldest.state != Operation::State::kCalled && !oldest.is_captured;
    if (was_enqueued && oldest.state == Operation::State::kEnqueuing && group_->has_stopped()) {
      // All that the library has enqueued comes before this.
      is_lost_ = is_lost_ || !device_.record(oldest.finished, stream_).ok();
      operations_.front()->state = Operation::State::kEnqueued;
    }
    const bool is_done = !was_enqueued || (oldest.state == Operation::State::kEnqueued &&
                                           has_passed(oldest.finished));
    if (!is_done && !is_lost_ && now < oldest.drained_by) break;
    is_left_behind_ = is_left_behind_ || !is_done;
    const std::unique_ptr<Operation> first = remove_first();
    first->completion->end(first->failure);
    moved = true;
  }
  return moved;
}

// Once the work before an operation has ended, the queue judges it.
void DeviceGroupLane::check_deadline(TimePoint now) {
  if (operations_.empty() || is_stopped_ || now < operations_.front()->deadline) return;
  const Operation& late = *operations_.front();
  if (late.state == Operation::State::kEnqueued && (late.is_captured || has_passed(late.called)))
    return;
  note(Status(
      Code::kTimeout, Scope::kGroup,
      late.state == Operation::State::kEnqueued
          ? "the work before " + late.text + " on its stream of " + device_.name() +
                " has not ended within the timeout"
          : late.text + " could not be enqueued on " + device_.name() + " within the timeout"));
}

// ---- For others ----

const DeviceGroupLane::Operation* DeviceGroupLane::operation_of(
    const Completion& completion) const {
  const auto is_its = [&](const auto& one) { return one->completion.get() == &completion; };
  const auto found = std::ranges::find_if(operations_, is_its);
  return found == operations_.end() ? nullptr : found->get();
}

// After an error only the end is left to wait for.
bool DeviceGroupLane::is_enqueued(const Completion& completion) const {
  const Operation* const operation = operation_of(completion);
  return operation == nullptr || (operation->state == Operation::State::kEnqueued &&
                                  operation->failure.ok() && failure_.ok());
}

Status DeviceGroupLane::let_wait(const Completion& completion, DeviceStream stream) {
  const Operation* const operation = operation_of(completion);
  if (operation == nullptr || (operation->is_captured && operation->stream == stream)) return {};
  if (operation->is_captured)
    return Status(Code::kInvalidArgument, Scope::kOperation,
                  operation->text + " is part of a graph: only its own stream can wait for it");
  return device_.let_wait(stream, operation->finished);
}

void DeviceGroupLane::leave() {
  const auto is_done = [this] { return operations_.empty(); };
  const bool done = engine_.wait(is_done, Deadline::after(engine_.clock(), 2 * kStopTime));
  const Engine::Baton baton = engine_.hold();
  if (std::exchange(is_attached_, false)) engine_.detach(*this);
  // After exit() the driver may be gone.
  is_left_behind_ = is_left_behind_ || !done || engine_.is_stopped();
  while (!operations_.empty()) {
    const std::unique_ptr<Operation> first = remove_first();
    first->completion->end(
        Status(Code::kTimeout, Scope::kGroup, device_.name() + " has not ended " + first->text));
  }
}

}  // namespace paceline
