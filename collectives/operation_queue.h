// The operations of a communicator. They run one after another, in the order of the calls.
//
//   enter() -> | waiting operations | -> begin() -> running operation -> end()
//
// The messages of the next operation may follow those of the running one before that has ended
// (CollectiveBackend::begin_next). Messages between two ranks are in the same queue, but are not
// part of what all ranks have called (backend/pairwise.h).
//
// It decides nothing about failures. failure_judge.h reads what runs, and says how it must end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <paceline/communicator.h>
#include <paceline/status.h>
#include <paceline/tensor.h>

#include "collectives/backend/backend.h"
#include "collectives/backend/pairwise.h"
#include "collectives/communicator_parts.h"
#include "collectives/failure/call_history.h"
#include "collectives/operation_stage.h"
#include "collectives/staging.h"
#include "collectives/validation.h"
#include "comm/account.h"
#include "comm/base/ring_queue.h"
#include "comm/completion.h"

namespace paceline {

struct QueuedOperation {
  OperationRequest& request() { return borrowed != nullptr ? *borrowed : own; }
  const OperationRequest& request() const { return borrowed != nullptr ? *borrowed : own; }
  const Signature& signature() const { return request().signature; }

  OperationRequest own;                  // if it continues after its call has returned
  OperationRequest* borrowed = nullptr;  // else, from a caller that waits for the end
  std::optional<TimePoint> called_at;
  TimePoint begun_at{};
  Duration timeout{};  // from called_at on
  // Null as long as nobody waits. Owners: this and the handles.
  std::shared_ptr<Completion> completion;
  /// Work around an operation on device memory. Borrowed until its end; null for most.
  OperationStage* stage = nullptr;
  bool in_background = false;
  bool is_exposed = false;  // not in the background: the caller's waits are exposed communication
  std::uint64_t flight_place = 0;  // once it has begun
};

/// Everything with the engine's baton held.
class OperationQueue {
 public:
  static constexpr std::size_t kMaxQueued = 65536;

  /// The parts are borrowed.
  explicit OperationQueue(const CommunicatorParts& parts);
  OperationQueue(const OperationQueue&) = delete;
  OperationQueue& operator=(const OperationQueue&) = delete;

  /// True for most calls that check() accepts.
  bool accepts_at_once(const OperationRequest& request) const {
    return waiting_.empty() && !is_closed_ && is_plainly_valid(request, parts_.group.size());
  }
  /// Why the call is refused: wrong arguments, too many operations, or a closed communicator.
  Status check(const OperationRequest& request) const;
  /// For many tensors, each in the place of the request's array.
  Status check_many(std::span<const Tensor> tensors, const OperationRequest& request) const;
  /// Is there room for so many operations?
  Status check_room(std::size_t operations) const;
  /// Accepts no more operations.
  void close() { is_closed_ = true; }
  bool is_closed() const { return is_closed_; }

  /// Adds an operation. If the queue was empty, it is the running one, and begin() must follow.
  /// `borrowed`: the request itself, if it stays where it is to the end; null: it is copied. The
  /// result is valid until the next call.
  QueuedOperation& enter(OperationRequest* borrowed, const OperationRequest& request);
  /// Adds an operation in the background, whose parts begin when its stage is ready: see advance().
  /// The stage is borrowed to its end.
  void enter_staged(OperationStage& stage);
  /// Begins the running operation. It may have ended well when this returns. After an error the
  /// caller calls end_all().
  Status begin();
  /// Makes the next operation or part the running one, and begin() must follow. False if one runs,
  /// if there is none, or if its stage is not ready.
  bool advance();
  /// Begins the next operation while one runs, if it can. True if it has.
  bool begin_early();
  /// True if the running operation moved.
  bool drive(TimePoint now) { return is_running_ && backend_->drive(now); }
  /// True if the running operation has succeeded and end() must follow.
  bool has_succeeded() const {
    return is_running_ && backend_->ended() && backend_->outcome().ok();
  }
  /// Ends the running operation well.
  void end(TimePoint now) { end_running({}, now); }
  /// Ends all operations with an error. The transport has been aborted.
  void end_all(const Status& why, TimePoint now);
  /// When drive() must be called again at the latest.
  TimePoint wake_at() const { return is_running_ ? backend_->wake_at() : TimePoint::max(); }

  bool is_running() const { return is_running_; }
  bool is_empty() const { return !is_running_ && !is_between_parts_ && waiting_.empty(); }
  /// The running operation. While none runs, only called_at of the last one may be read.
  const QueuedOperation& current() const { return current_; }
  /// The backend that runs it.
  const CollectiveBackend& backend() const { return *backend_; }
  const PairwiseBackend& pairwise() const { return pairwise_; }
  /// The backend for a collective operation.
  const CollectiveBackend& backend_for(const Signature& signature) const {
    return *choose(signature);
  }
  /// The collective operations that have begun.
  const CallHistory& history() const { return history_; }
  /// The operations of this rank, for its peers.
  Account account() const;

  /// A thread waits for operations that run in the background, since then. Their time counts as
  /// exposed communication until end_exposed().
  void begin_exposed(TimePoint since) { exposed_since_ = since; }
  void end_exposed() { exposed_since_ = TimePoint::max(); }
  /// The same for a thread that waits for this completion, which belongs to no operation of this
  /// queue and ends now.
  void count_wait(const Completion& completion, TimePoint now);

  Duration timeout() const { return timeout_; }
  /// For operations that are entered from now on.
  void set_timeout(Duration timeout) { timeout_ = timeout; }
  /// Only `operations` and `time_blocked` are set.
  const CommunicatorStats& stats() const { return stats_; }

 private:
  struct Choice {
    CollectiveBackend* backend;
    std::size_t most_bytes;  // of signature.count; beyond, the last backend
  };

  CollectiveBackend* choose(const Signature& signature) const;
  CollectiveBackend* choose(const QueuedOperation& operation) const;
  void sign(OperationRequest& request) const;
  void end_running(const Status& how, TimePoint now);
  void end(QueuedOperation& operation, const Status& how, TimePoint now);
  Duration count_exposed(const QueuedOperation& operation, TimePoint now);
  Duration count_exposed(TimePoint since, TimePoint now);
  int blamed_for(const Status& how) const;

  const CommunicatorParts& parts_;
  const Clock& clock_;  // the engine's
  Duration timeout_;
  bool is_closed_ = false;
  bool is_running_ = false;
  bool is_between_parts_ = false;  // of current_, or before the first
  QueuedOperation current_;
  PairwiseBackend pairwise_;
  Staging staging_;                                           // of current_
  CollectiveBackend* backend_;                                // of current_; never null
  std::array<Choice, std::size(kOperationKinds)> choices_{};  // by kind
  RingQueue<QueuedOperation> waiting_;
  bool is_next_settled_ = false;  // the first of them has begun early, or cannot
  CallHistory history_;
  CommunicatorStats stats_;
  TimePoint exposed_since_ = TimePoint::max();
  TimePoint exposed_until_{};  // counted so far
};

}  // namespace paceline
