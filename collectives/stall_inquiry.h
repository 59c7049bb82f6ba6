// Examines the running operation while it makes no progress: asks the ranks that it waits for,
// reports what they answer, and says why it failed if its time is over.
//
// Questions and answers carry what was called. So two ranks that each wait for the other find out,
// although neither sends anything, and the fast path carries no handshake.
#pragma once

#include <optional>
#include <string>

#include <paceline/status.h>

#include "collectives/communicator_parts.h"
#include "collectives/failure/inquest.h"
#include "collectives/failure/stall_watch.h"
#include "collectives/operation_queue.h"
#include "comm/account.h"

namespace paceline {

/// Everything with the engine's baton held.
class StallInquiry {
 public:
  /// Both are borrowed.
  StallInquiry(const CommunicatorParts& parts, const OperationQueue& queue)
      : parts_(parts), queue_(queue), watch_(parts.report_every) {}

  /// The running operation has begun.
  void begin() {
    const QueuedOperation& operation = queue_.current();
    watch_.begin(operation.begun_at, *operation.called_at, operation.timeout);
  }
  /// It has made progress.
  void moved(TimePoint now) { watch_.moved(now); }
  /// `rank` has said this about itself. `leaving`: it says nothing more.
  void heard(int rank, const Account& account, bool leaving);
  /// Asks and reports what is due while the operation runs. Returns Code::kTimeout if its time is
  /// over.
  std::optional<Status> examine(TimePoint now);
  /// When examine() must be called again at the latest.
  TimePoint wake_at() const { return watch_.wake_at(); }

 private:
  void begin_round(TimePoint now);
  void ask();
  void report(TimePoint now);
  Status timeout_error(TimePoint now);
  std::string account_of_stall();
  std::string in_words(const Inquest::Finding& finding);

  const CommunicatorParts& parts_;
  const OperationQueue& queue_;
  StallWatch watch_;
  Inquest inquest_;
};

}  // namespace paceline
