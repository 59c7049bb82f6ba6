// A communicator as seen by code that holds the engine's baton: CommunicatorCore, which takes the
// baton for each call, and drivers of the engine, such as the gradient pipeline.
//
//   CommunicatorCore ─> HeldCommunicator ─> OperationQueue: what runs, what ended
//   gradient pipeline ─>       │                  ↓
//                              ├─────────> FailureJudge: the final error
//                              └─────────> LastMessage: how the group hears of it
//
// An error other than a bad argument or too long a queue is final. The running operation and all
// later ones end with it, the group is told, the transport is aborted, and later calls return the
// error at once. A notice from a peer has the same effect, and is passed on.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>

#include <paceline/communicator.h>
#include <paceline/status.h>
#include <paceline/tensor.h>

#include "collectives/communicator_parts.h"
#include "collectives/failure_judge.h"
#include "collectives/last_message.h"
#include "collectives/operation_queue.h"
#include "comm/completion.h"
#include "comm/engine.h"

namespace paceline {

/// Everything but the constructor, the destructor and parts() with the engine's baton held.
class HeldCommunicator final : private Driver, private OperationOwner {
 public:
  explicit HeldCommunicator(CommunicatorParts parts);
  ~HeldCommunicator() override;
  HeldCommunicator(const HeldCommunicator&) = delete;
  HeldCommunicator& operator=(const HeldCommunicator&) = delete;

  const CommunicatorParts& parts() const { return parts_; }

  /// Runs an operation for a caller that waits for its end. True if it has ended already:
  /// completion.status is the outcome. Else both stay where they are until completion.has_ended().
  bool run(OperationRequest& request, Completion& completion);
  /// Runs an operation in the background. It has ended at once if it was refused.
  std::shared_ptr<const WorkCompletion> start(const OperationRequest& request);
  /// Runs an operation on many tensors, each in the place of the request's array.
  std::shared_ptr<const WorkCompletion> start_many(std::span<const Tensor> tensors,
                                                   const OperationRequest& request);
  /// Runs an operation on device memory in the background, when its stage is ready. The stage is
  /// borrowed to its end.
  void start_staged(OperationStage& stage);
  /// For completions of operations that run as such parts.
  OperationOwner& owner() { return *this; }
  /// Lets other ranks get answers, for a caller that does not wait in an operation. Not for
  /// drivers.
  void serve();
  /// Calls serve() at most every 50 ms. If each operation ends at once, nobody waits in the engine.
  /// The time of the last call replaces a clock read.
  void serve_at_times() {
    const TimePoint now = queue_.current().called_at.value_or(TimePoint::min());
    if (now < serve_at_) [[likely]]
      return;
    serve_at_ = now + kServeEvery;
    serve();
  }
  /// While on, messages of peers are read although no operation runs.
  void listen(bool on);

  /// The final error; a success while there is none.
  const Status& failure() const { return judge_.failure(); }
  /// Makes `why` the final error, unless there is one.
  void fail(Status why);
  /// The error of a decision that this rank makes for the group: "rank 3 on HOST " and `how`.
  Status cancelled_here(const std::string& how) const;
  /// Leaves the group, and ends all operations of this rank with `why`. Peers hear `how`.
  void leave(const char* how, const Status& why);
  /// True while the last message is on its way.
  bool is_flushing() const { return last_message_.is_flushing(); }

  OperationQueue& queue() { return queue_; }
  const OperationQueue& queue() const { return queue_; }
  CommunicatorStats stats() const;

 private:
  static constexpr Duration kServeEvery = std::chrono::milliseconds(50);

  bool drive(TimePoint now) override;
  TimePoint wake_at() const override;
  void cancel(const Completion& completion) override;

  void keep_driven();
  bool is_idle() const;
  Status check(const OperationRequest& request) const;
  QueuedOperation* enter(OperationRequest* borrowed, const OperationRequest& request);
  void begin();
  bool begin_waiting();
  bool judge(TimePoint now);
  void end_all(Status why);

  const CommunicatorParts parts_;
  const Clock& clock_;              // the engine's
  const bool ends_sends_early_;     // Transport::ends_sends_early()
  const TransportCounters before_;  // of messages before the first operation
  OperationQueue queue_;
  FailureJudge judge_;
  LastMessage last_message_;
  bool is_driven_ = false;  // attached to the engine: only while there is something to do
  bool listens_ = false;
  TimePoint serve_at_ = TimePoint::min();
};

}  // namespace paceline
