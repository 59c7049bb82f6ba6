// The end of an operation, shared between the operation and the handles on it.
#pragma once

#include <atomic>
#include <cstdint>

#include <paceline/status.h>

#include "comm/base/process_mark.h"

namespace paceline {

struct Completion;

/// Whoever carries operations out.
class OperationOwner {
 public:
  /// Ends the operation of this completion, which has not ended, with Code::kCancelled. With the
  /// engine's baton held.
  virtual void cancel(const Completion& completion) = 0;

 protected:
  ~OperationOwner() = default;
};

/// The part that enqueues the copies of operations on the memory of a device.
class StreamOrder {
 public:
  /// Has the device got all that it must do for this operation? Also true after its end.
  virtual bool is_enqueued(const Completion& completion) const = 0;
  /// Later work in the stream begins after the operation. With the engine's baton held.
  virtual Status let_wait(const Completion& completion, void* stream) = 0;

 protected:
  ~StreamOrder() = default;
};

/// Ends exactly once. `status` is written before `ended` becomes true and never again.
struct Completion {
  std::atomic<bool> ended{false};
  Status status;
  OperationOwner* owner = nullptr;  ///< until it has ended; null where nobody may cancel it
  /// Until it has ended, of an operation on device memory. Read with the engine's baton held.
  StreamOrder* order = nullptr;
  /// When a thread began to wait whose waits are exposed communication (telemetry/step_ledger.h);
  /// 0: none waits. In nanoseconds of the engine's clock.
  mutable std::atomic<std::int64_t> waited_since_ns{0};

  void end(Status how) {
    status = std::move(how);
    ended.store(true, std::memory_order_release);
  }
  bool has_ended() const { return ended.load(std::memory_order_acquire); }
};

/// The completion of an asynchronous operation. Handles (Work) refer to it.
struct WorkCompletion final : Completion {
  const ProcessMark made_in;  ///< a forked child has a copy that never ends
};

}  // namespace paceline
