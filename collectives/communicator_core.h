// What is behind a Communicator: the queue of its operations, their deadlines, and the one error
// that ends them all.
//
// Operations run one after another in the order of the calls; what the next one sends may follow
// what this one has sent before this one has ended (CollectiveBackend::begin_next). An error other
// than a bad argument or too long a queue is final: the running operation and those behind it end
// with it, the group is told, the transport is aborted, and later calls return it at once. A notice
// from a peer does the same, and is passed on (failure/binomial_graph.h).
//
// Messages between two ranks stand in the same queue, but are not in what all ranks have called
// (backend/pairwise.h).
//
// A rank that makes no progress asks those it waits for what they are doing (failure/inquest.h).
// Questions and answers carry what was called: two ranks that each wait for the other find out
// although neither sends anything, and the fast path carries no handshake.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <paceline/communicator.h>
#include <paceline/status.h>

#include "collectives/backend/backend.h"
#include "collectives/backend/pairwise.h"
#include "collectives/failure/call_history.h"
#include "collectives/failure/inquest.h"
#include "collectives/failure/stall_watch.h"
#include "collectives/failure/whereabouts.h"
#include "collectives/membership.h"
#include "collectives/staging.h"
#include "comm/base/process_mark.h"
#include "comm/base/ring_queue.h"
#include "comm/completion.h"
#include "comm/engine.h"
#include "comm/exit.h"
#include "comm/transport.h"
#include "telemetry/flight_ring.h"
#include "telemetry/log.h"

namespace paceline {

inline constexpr std::chrono::milliseconds kLongestTimeout = std::chrono::years(1);

class CommunicatorCore final : private Driver,
                               private TransportSink,
                               private OperationOwner,
                               private EndsAtExit {
 public:
  struct Parts {
    std::shared_ptr<Engine> engine;        // owners: see Work
    std::unique_ptr<Transport> transport;  // null in a group of one
    /// The first of its kind carries a collective operation out, or, beyond its bound, the last
    /// one, which has none.
    std::vector<std::unique_ptr<CollectiveBackend>> backends;
    std::unique_ptr<FlightRing> flight;
    std::unique_ptr<Whereabouts> whereabouts;  // may be null
    std::shared_ptr<Log> log;                  // may be null; owners: all that write to it
    Group group;
    Duration timeout = std::chrono::seconds(300);      // of each operation, until set_timeout()
    Duration report_every = std::chrono::seconds(30);  // where one makes no progress
    Determinism determinism = Determinism::kFast;      // of results that the backends compute
    Membership membership;
  };

  explicit CommunicatorCore(Parts parts);
  ~CommunicatorCore() override;
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
    return is_of_another_process() || parts_.engine->is_entered_here();
  }
  const Group& group() const { return parts_.group; }
  const Membership& membership() const { return parts_.membership; }
  Determinism determinism() const { return parts_.determinism; }
  /// May what an operation on so many bytes sends follow what the one before it has sent, before
  /// that has ended? The same on all ranks.
  bool overlaps(OperationKind kind, std::size_t bytes) const {
    return backend_for({.count = bytes, .kind = kind, .type = DataType::kUInt8})->overlaps();
  }
  /// Collective operations that have begun: the same on all ranks when one of them has ended.
  std::uint64_t operations_begun() const;
  CommunicatorStats stats() const;

  /// Runs it to its end on the caller's thread, and on the caller's request: a copy would wait for
  /// the fields that have just been written one by one.
  Status run(OperationRequest&& request);
  /// Lets it run in the background.
  Work start(const OperationRequest& request);
  /// The same by a driver of the engine, which holds the baton. The handle is of one that has
  /// ended where it was refused.
  std::shared_ptr<const WorkCompletion> start_holding(const OperationRequest& request);
  /// The same of many tensors, each in the place of the request's array.
  Work start_many(std::span<const Tensor> tensors, OperationRequest request);
  /// Those of Communicator.
  Status close();
  Status set_timeout(std::chrono::milliseconds timeout);
  Duration timeout() const;
  void abort();
  Status failure() const;
  /// Reads messages of peers, then returns failure(). For callers that do not wait in an operation.
  Status look_for_failure();
  /// The same with the baton held.
  const Status& failure_holding() const { return failure_; }
  /// What is above it has found an error that is final for the group. With the baton held.
  void fail_holding(Status why) { fail(std::move(why), clock_.now()); }
  /// The error that a decision of this rank makes for the group: "rank 3 on HOST " and `how`.
  Status cancelled_here(const std::string& how) const;
  /// From now on it reads what its peers say although no operation is under way, or no more. With
  /// the baton held.
  void listen_holding(bool on) {
    listens_ = on;
    if (on) keep_driven();
  }
  /// Of stats(), with the baton held.
  std::uint64_t bytes_sent_holding() const {
    return parts_.transport != nullptr ? parts_.transport->counters().bytes_sent : 0;
  }
  const std::shared_ptr<Engine>& engine() const { return parts_.engine; }
  const std::shared_ptr<Log>& log() const { return parts_.log; }

 private:
  struct Operation {
    OperationRequest& request() { return borrowed != nullptr ? *borrowed : own; }
    const OperationRequest& request() const { return borrowed != nullptr ? *borrowed : own; }

    OperationRequest own;                  // of one that goes on when its call has returned
    OperationRequest* borrowed = nullptr;  // else, from a caller who waits for the end
    std::optional<TimePoint> called_at;
    Duration timeout{};  // from then on
    // Null as long as nobody waits. Owners: this and the handles.
    std::shared_ptr<Completion> completion;
    bool in_background = false;
    std::uint64_t flight_place = 0;  // once it has begun
  };
  struct Heard {
    int peer;
    MessageKind kind;
    Account account;
  };
  struct Early {
    int peer;
    Signature signature;
  };
  static constexpr std::size_t kMaxQueued = 65536;

  bool drive(TimePoint now) override;
  TimePoint wake_at() const override;
  void keep_driven();
  bool is_idle() const;
  void told(int peer, MessageKind kind, ByteView payload) override;
  void waits(int peer, const Signature& signature) override;
  void cancel(const Completion& completion) override;
  void leave_at_exit() override;
  void stop_at_exit(Deadline deadline) override;

  void serve_others();
  bool is_plainly_admitted(const OperationRequest& request) const;
  Status admit(const OperationRequest& request) const;
  Status admit_many(std::span<const Tensor> tensors, const OperationRequest& request) const;
  Operation* enter(OperationRequest* borrowed, const OperationRequest& request);
  CollectiveBackend* backend_for(const Signature& signature) const;
  void begin_current();
  void begin_next();
  void sign(OperationRequest& request) const;
  bool begin_early();
  void end_current(const Status& how, TimePoint now);
  void end(Operation& operation, const Status& how, TimePoint now);

  // What has become of the running operation.
  bool judge(TimePoint now);
  bool judge_end(TimePoint now);
  bool await_better_account(TimePoint now);
  bool explains(const Disagreement& disagreement) const;
  Status failure_of_backend() const;
  Status disagreement(int peer, const Signature& mine, const Signature& theirs,
                      const std::string& what = {}) const;
  Status timeout_error(TimePoint now);

  // What ranks say about themselves.
  void compare(int peer, const Signature& theirs);
  void compare_early();
  bool has_passed(const Heard& heard, TimePoint now);
  Status account_of_messages();
  bool listen(TimePoint now);
  bool hear(const Heard& heard, TimePoint now);
  void begin_inquest(TimePoint now);
  void ask_questions();
  std::string account_of_stall();
  std::string in_words(const Inquest::Finding& finding);
  void report_stall(TimePoint now);
  Bytes own_account() const;

  // The end of everything.
  void fail(Status why, TimePoint now);
  void latch(Status why, TimePoint now);
  void spread();
  void leave(const char* how, const Status& why);
  void end_with_process();
  void part(const char* how);
  void tell_connected(MessageKind kind, ByteView payload);
  void keep_awake_to_flush(TimePoint now);
  bool end_flush(bool moved, TimePoint now);

  int blamed_for(const Status& how) const;
  Culprit member(int rank) const;
  std::string name_of(int rank) const;

  const ProcessMark made_in_;
  Parts parts_;
  const Clock& clock_;      // the engine's
  bool is_driven_ = false;  // attached to the engine: only while there is something to do
  bool running_ = false;
  Operation current_;  // if `running_`
  TimePoint serve_at_ = TimePoint::min();
  PairwiseBackend pairwise_;
  Staging staging_;             // of current_
  CollectiveBackend* backend_;  // the one that carries it out; never null
  struct Choice {
    CollectiveBackend* backend;
    std::size_t most_bytes;  // of signature.count; beyond, the last backend
  };
  std::array<Choice, std::size(kOperationKinds)> choices_{};  // by kind
  RingQueue<Operation> queue_;                                // those behind it
  bool is_next_settled_ = false;  // the first of them has begun early, or cannot
  CallHistory history_;

  StallWatch watch_;
  const bool ends_sends_early_;  // its transport
  Inquest inquest_;
  std::vector<Heard> heard_;            // not yet listened to
  std::optional<Status> notice_;        // what else has gone wrong, not yet acted upon
  std::vector<Early> early_;            // what peers have begun before this rank; see waits()
  std::optional<TimePoint> stands_at_;  // until then somebody else's account may come

  Status failure_;
  // What this rank has told its peers at the end, for those who ask while it is leaving.
  struct LastWord {
    MessageKind kind = MessageKind::kGoodbye;
    Bytes payload;
  };
  LastWord last_word_;
  bool closed_ = false;
  // By close(), which has found messages without a receiver, or by a layer above.
  bool listens_ = false;
  std::uint64_t open_messages_ =
      0;                   // while it closes: PairwiseBackend::open() of this rank, of all
  bool flushing_ = false;  // words are on their way: the engine is kept awake for them
  TimePoint flush_until_{};
  TimePoint flush_limit_{};
  TimePoint flush_look_{};
  CommunicatorStats stats_;

  ExitEntry exit_entry_;
};

/// An operation that has ended with this error.
Work refused_work(Status why);

}  // namespace paceline
