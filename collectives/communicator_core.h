// CommunicatorCore implements Communicator: it takes the engine's baton for each call, waits for
// the operation to end, and ends at exit(). Operations and failures: held_communicator.h.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <paceline/communicator.h>
#include <paceline/status.h>

#include "collectives/communicator_parts.h"
#include "collectives/device_operations.h"
#include "collectives/held_communicator.h"
#include "comm/base/process_mark.h"
#include "comm/exit.h"

namespace paceline {

inline constexpr std::chrono::milliseconds kLongestTimeout = std::chrono::years(1);

class CommunicatorCore final : private EndsAtExit {
 public:
  using Parts = CommunicatorParts;

  /// `control`: what control() returns, of the same group; null: this communicator.
  explicit CommunicatorCore(Parts parts, std::unique_ptr<CommunicatorCore> control = nullptr);
  ~CommunicatorCore();
  CommunicatorCore(const CommunicatorCore&) = delete;
  CommunicatorCore& operator=(const CommunicatorCore&) = delete;

  /// Has this process been forked from the one that has made it?
  bool is_of_another_process() const { return !made_in_.is_of_this_process(); }
  /// The error for a call in a forked child; a success in the process that made it. A child must
  /// not lock or wait here: the thread that holds a lock, or would end a wait, may not exist in the
  /// child.
  Status refuse_child() const {
    return is_of_another_process() ? made_in_.refusal("communicator") : Status();
  }
  /// True if the destructor would wait for a thread that never continues: a thread of the parent,
  /// in a forked child, or the thread that a signal handler has interrupted which then called
  /// exit().
  bool is_out_of_reach() const {
    return is_of_another_process() || parts().engine->is_entered_here();
  }

  /// The parts of this communicator.
  const Parts& parts() const { return held_.parts(); }
  const Group& group() const { return parts().group; }
  /// For callers that hold the engine's baton.
  HeldCommunicator& held() { return held_; }
  /// The communicator by which the ranks make further communicators, and close this one. It is
  /// another communicator if this one sends no messages (backend/ablated.h).
  CommunicatorCore& control() { return control_ != nullptr ? *control_ : *this; }
  /// May the messages of an operation on so many bytes follow those of the operation before it,
  /// before that has ended? The same on all ranks.
  bool overlaps(OperationKind kind, std::size_t bytes) const;
  /// Collective operations that have begun: the same on all ranks when one of them has ended.
  std::uint64_t operations_begun() const;
  CommunicatorStats stats() const;

  /// Runs it to its end on the caller's thread, and on the caller's request: a copy would wait for
  /// the fields that have just been written one by one.
  Status run(OperationRequest&& request);
  /// Lets it run in the background.
  Work start(const OperationRequest& request);
  /// The same two for a caller that has called start_on_device().
  Status run_on_host(OperationRequest&& request);
  Work start_on_host(const OperationRequest& request);
  /// Starts an operation on many tensors, each in place of the request's array.
  Work start_many(std::span<const Tensor> tensors, const OperationRequest& request);
  /// False: this process has no device memory.
  bool may_have_devices() { return device_.may_serve(); }
  /// Starts it if its buffers lie in device memory, or ends it if they lie in several places. No
  /// Work: its buffers are host memory. Borrows nothing but the buffers.
  std::optional<Work> start_on_device(const OperationRequest& request) {
    if (!device_.may_serve(request)) return std::nullopt;
    return start_found(request);
  }
  /// For code that holds the engine's baton.
  DeviceOperations& on_devices() { return device_; }
  /// See Communicator.
  Status close();
  Status set_timeout(std::chrono::milliseconds timeout);
  Duration timeout() const;
  /// Sets the stream of later operations on device memory whose request names none.
  void set_stream(DeviceStream stream) { stream_ = stream; }
  void abort();
  Status failure() const;
  /// Reads messages of peers, then returns failure(). For callers that do not wait in an operation.
  Status look_for_failure();

 private:
  std::optional<Work> start_found(const OperationRequest& request);
  void leave_at_exit() override;
  void stop_at_exit(Deadline deadline) override;
  void end_with_process();
  bool wait_for_last_message(Deadline deadline);
  Status error_of_lost_messages();

  const ProcessMark made_in_;
  const std::unique_ptr<CommunicatorCore> control_;
  HeldCommunicator held_;
  DeviceOperations device_;
  DeviceStream stream_ = nullptr;
  Engine& engine_;
  std::uint64_t open_messages_ = 0;  // while it closes: PairwiseBackend::open() of all ranks
  ExitEntry exit_entry_;
};

/// An operation that has ended with this error.
Work refused_work(Status why);

}  // namespace paceline
