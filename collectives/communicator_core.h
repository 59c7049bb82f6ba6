// What is behind a Communicator: the queue of its operations, their deadlines, and the one error
// that ends them all.
//
// Operations run one after another in the order of the calls. An error other than a bad argument
// is final: the running operation and those behind it end with it, peers get a notice of it, the
// transport is aborted, and later calls return it at once. A notice from a peer does the same.
//
// A rank that makes no progress asks those it waits for what they are doing: it sends them its
// signature, and a rank that called something else under that number says so. So two ranks that
// each wait for the other find out although neither sends anything, and the fast path carries no
// handshake.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <paceline/communicator.h>
#include <paceline/status.h>

#include "collectives/backend.h"
#include "comm/completion.h"
#include "comm/engine.h"
#include "comm/transport.h"
#include "telemetry/flight_ring.h"

namespace paceline {

class CommunicatorCore final : private Driver, private TransportSink {
 public:
  struct Parts {
    std::shared_ptr<Engine> engine;        // owners: see Work
    std::unique_ptr<Transport> transport;  // null in a group of one
    std::unique_ptr<CollectiveBackend> backend;
    std::unique_ptr<FlightRing> flight;
    Group group;
    Duration timeout = std::chrono::seconds(300);
  };

  explicit CommunicatorCore(Parts parts);
  ~CommunicatorCore() override;
  CommunicatorCore(const CommunicatorCore&) = delete;
  CommunicatorCore& operator=(const CommunicatorCore&) = delete;

  const Group& group() const { return parts_.group; }
  CommunicatorStats stats() const;

  /// Runs it to its end on the caller's thread.
  Status run(OperationRequest request);
  /// Lets it run in the background.
  Work start(OperationRequest request);

 private:
  struct Operation {
    OperationRequest request;
    TimePoint deadline;
    std::shared_ptr<Completion> completion;  // owners: the queue and the handles
    bool in_background = false;
    std::optional<std::uint64_t> flight_place;  // once it has begun
  };
  static constexpr std::size_t kMaxQueued = 65536;
  static constexpr std::size_t kRemembered = 64;

  bool drive(TimePoint now) override;
  TimePoint wake_at() const override;
  void noticed(int peer, const Status& error) override;
  void inquired(int peer, const Signature& signature) override;

  Status validate(const OperationRequest& request) const;
  Status submit(OperationRequest request, std::shared_ptr<Completion> completion,
                bool in_background);
  void start_next(TimePoint now);
  void end_current(Status how, TimePoint now);

  bool judge(TimePoint now);
  bool await_better_account(TimePoint now);
  bool end_flush(TimePoint now);
  bool answer_inquiries(TimePoint now);
  void inquire(TimePoint now);
  void fail(Status why, TimePoint now, bool seen_here);
  void flush_notices();
  Status failure_of_backend() const;
  Status disagreement(int peer, const Signature& theirs) const;
  Status timeout_error() const;
  const Signature* remembered(std::uint64_t sequence) const;
  std::string name_of(int rank) const;

  Parts parts_;
  std::deque<Operation> queue_;  // the first has begun if `running_`
  bool running_ = false;
  std::uint64_t next_sequence_ = 0;
  std::array<Signature, kRemembered> history_{};  // of begun operations, by sequence
  std::uint64_t begun_ = 0;

  TimePoint inquire_at_ = TimePoint::max();  // when the running operation is taken to be stuck
  Duration inquire_next_{};
  std::vector<std::pair<int, Signature>> inquiries_;  // not yet answered
  std::optional<Status> notice_;                      // from a peer, not yet acted upon
  std::optional<TimePoint> stands_at_;                // until then somebody else's account may come

  Status failure_;
  bool flushing_ = false;  // notices are on their way: the engine is kept awake for them
  TimePoint flush_until_{};
  CommunicatorStats stats_;
};

}  // namespace paceline
