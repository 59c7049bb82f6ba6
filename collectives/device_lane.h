// Carries out operations on the memory of one device. There are two kinds: staged_lane.h and
// device_group_lane.h.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "collectives/backend/backend.h"
#include "collectives/operation_stage.h"
#include "comm/base/clock.h"
#include "comm/base/signature.h"
#include "comm/completion.h"
#include "comm/device/device.h"

namespace paceline {

/// Where an operation begins.
struct DeviceCallPlace {
  TimePoint deadline{};  ///< by then the device must have reached it
  /// Recorded on the stream of the request. Of the lane's pool; the lane gives it back.
  DeviceEvent called = nullptr;
  bool is_captured = false;  ///< the calls on the stream become part of a graph: no event
};

class DeviceLane : public StreamOrder {
 public:
  /// Call leave() before.
  virtual ~DeviceLane() = default;

  /// Takes an operation that the communicator accepts. It borrows the buffers only. It begins when
  /// the device has reached its place, and has got all of `after`, an operation of another lane, or
  /// null. `completion` ends with it. The stage enters the queue next, or has its place there. An
  /// error: it was not taken. With the engine's baton held.
  virtual Result<OperationStage*> take(const OperationRequest& request,
                                       const DeviceCallPlace& place,
                                       std::shared_ptr<WorkCompletion> completion,
                                       std::shared_ptr<const WorkCompletion> after) = 0;
  /// Waits until nothing is on its way, for a few seconds at most. All operations of the
  /// communicator have ended. Without the baton.
  virtual void leave() = 0;
};

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

/// For messages about a call whose number is not known yet: "all_reduce(10 x float32, sum)".
std::string call_text(const Signature& signature);

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
