// Carries out operations on the memory of one device. There are two kinds: staged_lane.h and
// device_group_lane.h.
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "collectives/backend/backend.h"
#include "collectives/held_communicator.h"
#include "collectives/operation_stage.h"
#include "comm/base/clock.h"
#include "comm/base/signature.h"
#include "comm/completion.h"
#include "comm/device/device.h"
#include "comm/engine.h"

namespace paceline {

/// How often a lane looks at events: soon after something has moved, then less and less often.
class PollPace {
 public:
  void hurry() { every_ = kSoon; }
  /// When to look next.
  TimePoint next(bool moved, TimePoint now) {
    every_ = moved ? kSoon : std::min(2 * every_, kAtLeast);
    return now + every_;
  }

 private:
  static constexpr Duration kSoon = std::chrono::microseconds(5);
  static constexpr Duration kAtLeast = std::chrono::microseconds(100);

  Duration every_ = kSoon;
};

/// Events of a device, which are used again and again.
class EventPool {
 public:
  /// Borrowed.
  explicit EventPool(Device& device) : device_(device) {}
  ~EventPool() {
    if (is_left_behind_) return;
    for (const DeviceEvent event : spare_) device_.destroy_event(event);
  }
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  Result<DeviceEvent> take() {
    if (spare_.empty()) return device_.make_event();
    const DeviceEvent event = spare_.back();
    spare_.pop_back();
    return event;
  }
  /// Null has no effect.
  void give_back(DeviceEvent event) {
    if (event != nullptr) spare_.push_back(event);
  }
  /// The device may still use them, or be gone: nothing is destroyed.
  void leave_behind() { is_left_behind_ = true; }

 private:
  Device& device_;
  std::vector<DeviceEvent> spare_;
  bool is_left_behind_ = false;
};

/// Without the number, which is not known at a call: "all_reduce(10 x float32, sum)".
std::string call_text(const Signature& signature);

/// Where an operation begins.
struct DeviceCallPlace {
  TimePoint deadline{};  ///< by then the device must have reached it
  /// Recorded on the stream of the request. Of the lane's pool; the lane gives it back.
  DeviceEvent called = nullptr;
  bool is_captured = false;  ///< the calls on the stream become part of a graph: no event
};

/// An operation that a lane has taken.
struct LaneOperation : OperationStage {
  explicit LaneOperation(const OperationRequest& request) : signature(request.signature) {}
  virtual ~LaneOperation() = default;

  /// For messages; its number is not known at the call: "all_reduce(10 x float32, sum)".
  std::string text() const { return call_text(signature); }

  const Signature signature;
  std::shared_ptr<WorkCompletion> completion{};
  std::shared_ptr<const WorkCompletion> after{};  // of another lane: it begins later; or null
  TimePoint deadline{};
  // Null in a graph.
  DeviceEvent called = nullptr;             // on the caller's stream
  DeviceEvent finished = nullptr;           // after all that is enqueued for it
  bool is_over = false;                     // in the queue
  TimePoint drained_by = TimePoint::max();  // after an error
  Status failure;
};

/// Everything but leave() with the engine's baton held.
class DeviceLane : public StreamOrder, protected Driver {
 public:
  /// Call leave() before.
  ~DeviceLane() override = default;
  DeviceLane(const DeviceLane&) = delete;
  DeviceLane& operator=(const DeviceLane&) = delete;

  /// Takes an operation that the communicator accepts. It borrows the buffers only. It begins when
  /// the device has reached its place, and has got all of `after`, an operation of another lane, or
  /// null. `completion` ends with it. The stage enters the queue next, or has its place there. An
  /// error: it was not taken.
  virtual Result<OperationStage*> take(const OperationRequest& request,
                                       const DeviceCallPlace& place,
                                       std::shared_ptr<WorkCompletion> completion,
                                       std::shared_ptr<const WorkCompletion> after) = 0;
  /// The device may still use the memory of operations that have ended with an error.
  bool is_left_behind() const { return is_left_behind_; }
  /// Waits until nothing is on its way, for a few seconds at most. All operations of the
  /// communicator have ended. Without the baton.
  void leave();

 protected:
  /// All are borrowed. After an error an operation is waited for that long.
  DeviceLane(HeldCommunicator& held, Device& device, EventPool& events, Duration drain_time);

  /// The end of take(): gives the operation its events, and lets the engine drive the lane.
  Result<OperationStage*> add(std::unique_ptr<LaneOperation> operation,
                              const DeviceCallPlace& place,
                              std::shared_ptr<WorkCompletion> completion,
                              std::shared_ptr<const WorkCompletion> after);
  /// Null: it has ended.
  const LaneOperation* operation_of(const Completion& completion) const;
  /// The oldest operation, which needs nothing any more.
  std::unique_ptr<LaneOperation> remove_first();
  void end_first();

  TimePoint wake_at() const override { return wake_at_; }
  void stop_driving();
  /// False also if the device does not answer: then is_lost_.
  bool has_passed(DeviceEvent event);
  /// Keeps the first error.
  void note(const Status& how);

  HeldCommunicator& held_;
  Device& device_;
  Engine& engine_;
  EventPool& events_;
  std::deque<std::unique_ptr<LaneOperation>> operations_;  // until they end, the oldest first
  Status failure_;                                         // of the device, or of a library
  bool is_lost_ = false;                                   // the device does not answer
  bool is_left_behind_ = false;                            // it may still be at work
  PollPace pace_;
  TimePoint wake_at_ = TimePoint::max();

 private:
  const Duration drain_time_;
  bool is_attached_ = false;
};

/// Has the device got all of the operation? Also if there is none.
inline bool is_enqueued(const std::shared_ptr<const WorkCompletion>& operation) {
  return operation == nullptr || operation->has_ended() ||
         (operation->order != nullptr && operation->order->is_enqueued(*operation));
}
/// Once is_enqueued(): later work in the stream begins after it.
inline Status let_wait(const std::shared_ptr<const WorkCompletion>& operation, void* stream) {
  if (operation == nullptr || operation->has_ended()) return {};
  return operation->order->let_wait(*operation, stream);
}

}  // namespace paceline
