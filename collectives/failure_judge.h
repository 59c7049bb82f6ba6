// Decides which error ends a communicator, if any.
//
//   what runs, what ended (OperationQueue) ─┐
//   notices, answers, early messages ───────┼─> verdict() ─> the final error
//   questions about a stall (StallInquiry) ─┘
//
// Any error of an operation that has begun is final. A peer's own account of what went wrong is
// better than what this rank sees of it, so an error waits for one for a short time.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <paceline/status.h>

#include "collectives/communicator_parts.h"
#include "collectives/operation_queue.h"
#include "collectives/stall_inquiry.h"
#include "comm/account.h"
#include "comm/base/ring_queue.h"
#include "comm/base/signature.h"
#include "comm/transport.h"

namespace paceline {

/// How long a peer may take to answer. It answers at once, unless it computes.
inline constexpr Duration kAnswerPatience = std::chrono::seconds(1);

/// Everything with the engine's baton held.
class FailureJudge final : public TransportSink {
 public:
  /// Both are borrowed.
  FailureJudge(const CommunicatorParts& parts, const OperationQueue& queue)
      : parts_(parts), queue_(queue), stall_(parts, queue) {}

  /// The final error; a success while there is none.
  const Status& failure() const { return failure_; }
  /// Makes `why` the final error.
  void conclude(Status why) { failure_ = std::move(why); }

  void told(int peer, MessageKind kind, ByteView payload) override;
  void waits(int peer, const Signature& signature) override;
  /// An operation has begun. It may have ended.
  void note_begin() {
    if (!early_.empty()) compare_early();
    if (queue_.is_running()) stall_.begin();
  }
  /// The running operation has made progress.
  void note_progress(TimePoint now) { stall_.moved(now); }

  /// The error that must end everything now. Answers questions of peers, and asks them. Nothing
  /// after conclude().
  std::optional<Status> verdict(TimePoint now);
  /// After conclude(): the peers that have asked and got no answer yet.
  std::vector<int> take_inquirers();
  /// When verdict() must be called again at the latest while an operation runs.
  TimePoint wake_at() const { return decide_at_.value_or(stall_.wake_at()); }
  /// True if verdict() and take_inquirers() would find nothing new.
  bool is_quiet() const { return heard_.empty() && (!notice_ || !failure_.ok()); }

 private:
  struct Heard {
    int peer = -1;
    MessageKind kind{};
    Account account;
  };
  struct Early {
    int peer;
    Signature signature;
  };

  // Accounts of peers.
  std::optional<Status> hear(const Heard& heard);
  std::optional<Status> passed_by(const Heard& heard) const;
  void compare(int peer, const Signature& theirs);
  void compare_early();

  Status seen_from_here(const Status& notice) const;

  // Errors of the running operation.
  std::optional<Status> error_of_operation(TimePoint now);
  bool await_better_account(TimePoint now);
  bool explains(const Disagreement& disagreement) const;
  Status failure_of_backend() const;
  Status disagreement(int peer, const Signature& mine, const Signature& theirs,
                      const std::string& what = {}) const;

  const CommunicatorParts& parts_;
  const OperationQueue& queue_;
  StallInquiry stall_;
  RingQueue<Heard> heard_;              // not yet acted upon
  std::optional<Status> notice_;        // what else has gone wrong, not yet acted upon
  std::vector<Early> early_;            // what peers have begun before this rank; see waits()
  std::optional<TimePoint> decide_at_;  // until then a better account of an error may come
  Status failure_;
};

}  // namespace paceline
