// The pairwise backend: messages between two ranks over a transport, one or many per operation.
//
// The k-th message that rank a sends to rank b matches the k-th receive from a on b. Both ranks
// number messages in the order of their calls. A transport may complete them in another order: a
// long message may take longer than a short one sent after it (transport/shm_loans.h).
//
// Other ranks do not know of a message, so it is not part of the history of collective calls. The
// receiver compares count, type, and the position between collective operations when the message
// arrives. A message without a receive is found by the receiver's next collective operation, or by
// close() (open()).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <paceline/group.h>
#include <paceline/message.h>
#include <paceline/status.h>

#include "collectives/backend/backend.h"
#include "comm/transport.h"

namespace paceline {

class PairwiseBackend final : public CollectiveBackend, private RequestListener {
 public:
  /// The transport is borrowed; null in a group of one.
  PairwiseBackend(Transport* transport, int rank, int ranks);

  /// Checks the arguments: peers exist, types are known, byte counts do not overflow, buffers do
  /// not overlap, and each message to this rank itself has both a send and a receive.
  Status validate(const OperationRequest& request) const;

  std::string_view name() const override { return "pairwise"; }
  std::optional<std::size_t> most_bytes(OperationKind kind) const override {
    return is_collective(kind) ? std::nullopt : std::optional(SIZE_MAX);
  }
  std::size_t small_bytes() const override { return 0; }
  Status start(OperationRequest& request) override;
  bool linger(const Clock& clock, TimePoint& now) override;
  bool drive(TimePoint now) override;
  bool ended() const override { return left_ == 0 || !failure_.ok(); }
  const Status& outcome() const override { return failure_; }
  void finish() override { messages_ = {}; }
  std::optional<Disagreement> disagreement() const override { return disagreement_; }
  std::vector<int> awaited() const override;

  /// The message with that peer that is waited for, as this rank called it.
  std::optional<Signature> awaited_with(int peer) const;
  /// True if this message, which has arrived, has matched a receive.
  bool has_received(int peer, const Signature& theirs) const;
  /// The number of messages sent minus the number received, by this rank since the beginning. The
  /// sum over all ranks is zero if every message was received.
  std::uint64_t open() const { return open_; }

 private:
  // Counts calls, including those in progress. Wraps.
  struct Pair {
    std::uint32_t sent = 0;
    std::uint32_t received = 0;
  };

  void ended(Request& request) override;
  std::span<const Message> messages_of(const OperationRequest& request, Message& single) const;
  bool is_own(const Message& message) const { return message.peer == rank_; }
  void begin_messages();
  void copy_own();
  void send(std::size_t index);
  void receive(std::size_t index);
  void check(const Message& message, std::uint32_t number, const Request& request);
  Signature sent_signature(const Message& message, int to, std::uint32_t number) const;
  Signature own_words(const Message& message) const;

  Transport* const transport_;
  const int rank_;
  std::vector<Pair> pairs_;  // by peer
  std::uint64_t open_ = 0;

  // The running operation.
  std::span<const Message> messages_;  // the caller's, or single_
  Message single_;
  Signature signature_;
  std::size_t left_ = 0;                // messages that have not ended
  bool moved_ = false;                  // since the last drive()
  std::vector<Request> requests_;       // by message; grows only
  std::vector<std::uint32_t> numbers_;  // by message: its number within its pair and direction
  std::vector<bool> pending_;           // by message
  Status failure_;
  std::optional<Disagreement> disagreement_;
};

}  // namespace paceline
