#include "collectives/device_group_lane.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collectives/device_calls.h"
#include "comm/base/digest.h"
#include "comm/base/random.h"
#include "comm/base/try.h"
#include "comm/exit.h"

namespace paceline {
namespace {

// All ranks are looked at, so not each time that an event is.
constexpr Duration kLookForLossEvery = std::chrono::milliseconds(20);
// How long an operation may take after a rank was lost.
constexpr Duration kLossPatience = std::chrono::milliseconds(200);
// How long a stopped library may take to end what was enqueued.
constexpr Duration kStopTime = std::chrono::seconds(5);

// All ranks must pass the same counts, which the signature does not have.
std::uint32_t digest_of_call(const OperationRequest& request, int ranks) {
  std::uint64_t mixed = digest("by a device library") ^ request.call_digest;
  if (request.counts != nullptr)
    for (int rank = 0; rank < ranks; ++rank) mixed = Random(mixed ^ request.counts[rank]).next();
  return static_cast<std::uint32_t>(mixed);
}

// A group that may be at work, and cannot be destroyed. It stays reachable, so that no checker
// reports it as a leak.
void keep_forever(std::unique_ptr<DeviceGroup> group) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::unique_ptr<DeviceGroup>>();
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(group));
}

// The request as the queue sees it: without memory.
OperationRequest tracked_request(const OperationRequest& request, int ranks) {
  OperationRequest made{.signature = request.signature};
  made.call_digest = digest_of_call(request, ranks);
  return made;
}

}  // namespace

struct DeviceGroupLane::Operation final : LaneOperation {
  enum class State {
    kCalled,
    kEnqueuing,  // the library has not ended its calls
    kEnqueued,
  };

  Operation(DeviceGroupLane& of, const OperationRequest& from, bool captured)
      : LaneOperation(from),
        lane(of),
        request(tracked_request(from, of.held_.parts().group.size())),
        calls(device_calls(from, of.held_.parts().group.rank, of.held_.parts().group.size())),
        stream(from.stream),
        is_captured(captured) {}

  OperationRequest* next_part() override {
    // The library may wait for other ranks before it has enqueued the first calls.
    return state != State::kCalled && is_reached() ? &request : nullptr;
  }
  CollectiveBackend* backend() override;
  bool end_part() override { return false; }
  void end(const Status& how) override { lane.end(*this, how); }

  // Has the work before it ended?
  bool is_reached() const { return is_captured || lane.has_passed(called); }
  bool is_done() const {
    return state == State::kEnqueued && (is_captured || lane.has_passed(finished));
  }

  DeviceGroupLane& lane;
  OperationRequest request;
  const std::vector<DeviceCall> calls;
  const DeviceStream stream;  // the caller's
  const bool is_captured;     // enqueued in the caller's stream, and over once that is done
  State state = State::kCalled;
};

// Stands for the operation in the queue while the device carries it out.
class DeviceGroupLane::Tracker final : public CollectiveBackend {
 public:
  explicit Tracker(DeviceGroupLane& lane) : lane_(lane) {}

  std::string_view name() const override { return "device library"; }
  std::optional<std::size_t> most_bytes(OperationKind) const override { return {}; }
  std::size_t small_bytes() const override { return 0; }

  // The queue has operations in the order of the calls, so it is the lane's first.
  Status start(OperationRequest& request) override {
    tracked_ = &lane_.first();
    request.set_plan(0);
    has_ended_ = false;
    outcome_ = {};
    lost_by_.reset();
    return {};
  }
  bool linger(const Clock&, TimePoint& now) override { return drive(now) && outcome_.ok(); }
  bool drive(TimePoint now) override {
    if (has_ended_ || tracked_ == nullptr) return false;
    has_ended_ = tracked_->is_done();
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
    if (lane_.failure_.ok() && now < look_for_loss_at_) return {};
    look_for_loss_at_ = now + kLookForLossEvery;
    const Status loss = first_loss();
    const Status& error = loss.ok() ? lane_.failure_ : loss;
    if (error.ok()) return {};
    if (!lost_by_) lost_by_ = now + kLossPatience;
    return now >= *lost_by_ || lane_.is_lost_ ? error : Status();
  }
  Status first_loss() const {
    const Group& group = lane_.held_.parts().group;
    for (int peer = 0; peer < group.size(); ++peer) {
      if (peer == group.rank) continue;
      Status loss = lane_.held_.parts().transport->loss(peer);
      if (!loss.ok()) return loss;
    }
    return {};
  }

  DeviceGroupLane& lane_;
  const Operation* tracked_ = nullptr;
  TimePoint look_for_loss_at_{};
  std::optional<TimePoint> lost_by_;
  bool has_ended_ = false;
  Status outcome_;
};

CollectiveBackend* DeviceGroupLane::Operation::backend() { return lane.tracker_.get(); }

DeviceGroupLane::DeviceGroupLane(HeldCommunicator& held, Device& device, EventPool& events,
                                 std::unique_ptr<DeviceGroup> group)
    : DeviceLane(held, device, events, kStopTime),
      group_(std::move(group)),
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
    keep_forever(std::move(group_));
    events_.leave_behind();
    return;
  }
  group_.reset();
  if (stream_ != nullptr) device_.destroy_stream(stream_);
}

// ---- A call ----

DeviceGroupLane::Operation& DeviceGroupLane::first() const {
  return static_cast<Operation&>(*operations_.front());
}

// Nothing may wait for an event of a stream that is captured, so there the calls go into the
// caller's stream.
Result<OperationStage*> DeviceGroupLane::take(const OperationRequest& request,
                                              const DeviceCallPlace& place,
                                              std::shared_ptr<WorkCompletion> completion,
                                              std::shared_ptr<const WorkCompletion> after) {
  if (place.is_captured && after != nullptr && !after->has_ended())
    return Status(Code::kInvalidArgument, Scope::kOperation,
                  call_text(request.signature) +
                      " cannot become part of a graph while an earlier operation runs through "
                      "host memory; wait for that one first");
  PACELINE_TRY_ASSIGN(OperationStage* const stage,
                      add(std::make_unique<Operation>(*this, request, place.is_captured), place,
                          std::move(completion), std::move(after)));
  while (enqueue_next()) continue;
  return stage;
}

// ---- Enqueuing ----

// Enqueues the next operation, or sees that the library has done so. True if it has.
bool DeviceGroupLane::enqueue_next() {
  if (!failure_.ok() || is_stopped_) return false;
  const Result<bool> ready = group_->is_ready();
  if (!ready.ok()) note(ready.status());
  if (!ready.ok() || !*ready) return false;
  const auto found = std::ranges::find_if(operations_, [](const auto& one) {
    const auto& operation = static_cast<const Operation&>(*one);
    return operation.failure.ok() && operation.state != Operation::State::kEnqueued;
  });
  if (found == operations_.end()) return false;
  auto& operation = static_cast<Operation&>(**found);
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
  if (operations_.empty()) stop_driving();
  return moved;
}

// The queue has ended an operation. After an error it ends all others.
void DeviceGroupLane::end(Operation& operation, const Status& how) {
  operation.is_over = true;
  operation.failure = how;
  if (how.ok()) {
    remove_first()->completion->end({});
    return;
  }
  // When the process exits, the device ends its work.
  if (!std::exchange(is_stopped_, true) && !is_process_exiting()) group_->stop();
  operation.drained_by = engine_.clock().now() + kStopTime;
  wake_at_ = TimePoint::min();
}

// Ends failed operations that use no memory any more.
bool DeviceGroupLane::end_drained(TimePoint now) {
  bool moved = false;
  while (!operations_.empty() && first().is_over) {
    Operation& oldest = first();
    if (oldest.state == Operation::State::kEnqueuing && group_->has_stopped()) {
      // All that the library has enqueued comes before this.
      const Status recorded = finish_enqueuing(oldest);
      is_lost_ = is_lost_ || !recorded.ok();
    }
    const bool is_done = oldest.state == Operation::State::kCalled || oldest.is_done();
    if (!is_done && !is_lost_ && now < oldest.drained_by) break;
    is_left_behind_ = is_left_behind_ || !is_done;
    end_first();
    moved = true;
  }
  return moved;
}

// Once the device has reached an operation, and the library is at it, the queue judges it.
void DeviceGroupLane::check_deadline(TimePoint now) {
  if (operations_.empty() || is_stopped_ || now < operations_.front()->deadline) return;
  const Operation& late = first();
  if (late.state == Operation::State::kCalled)
    return note(Status(
        Code::kTimeout, Scope::kGroup,
        late.text() + " could not be enqueued on " + device_.name() + " within the timeout"));
  if (late.is_reached()) return;
  note(Status(Code::kTimeout, Scope::kGroup,
              "the work before " + late.text() + " on its stream of " + device_.name() +
                  " has not ended within the timeout"));
}

// ---- For others ----

// After an error only the end is left to wait for.
bool DeviceGroupLane::is_enqueued(const Completion& completion) const {
  const auto* const operation = static_cast<const Operation*>(operation_of(completion));
  return operation == nullptr || (operation->state == Operation::State::kEnqueued &&
                                  operation->failure.ok() && failure_.ok());
}

Status DeviceGroupLane::let_wait(const Completion& completion, DeviceStream stream) {
  const auto* const operation = static_cast<const Operation*>(operation_of(completion));
  if (operation == nullptr || (operation->is_captured && operation->stream == stream)) return {};
  if (operation->is_captured)
    return Status(Code::kInvalidArgument, Scope::kOperation,
                  operation->text() + " is part of a graph: only its own stream can wait for it");
  return device_.let_wait(stream, operation->finished);
}

}  // namespace paceline
