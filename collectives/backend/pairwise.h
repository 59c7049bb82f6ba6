// The pairwise backend: messages between two ranks, one or many in an operation, over a transport.
//
// Of a pair, the k-th message that one sends meets the k-th that the other receives from it. Both
// number them in the order of their calls: a transport may end them in another one, since the data
// of a long message may take longer to come than a short one behind it (transport/shm_loans.h). No
// third rank knows of it, so it is no part of what all ranks have called: it is checked where it is
// met (count, type, and between which collective operations), and who sent what nobody received is
// found out by the next collective operation of the receiver, or by close() (open()).
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

  /// Is this a call that it can carry out? Peers that exist, known types, counts that can be
  /// counted, buffers that do not overlap, and of each message to itself both ends.
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

  /// The message with that peer that is waited for, in this rank's words.
  std::optional<Signature> awaited_with(int peer) const;
  /// Has this message, which came, met a receive?
  bool has_received(int peer, const Signature& theirs) const;
  /// Messages that this rank has sent less those that it has received, of all since the beginning:
  /// the sum over all ranks is zero when nothing is left lying.
  std::uint64_t open() const { return open_; }

 private:
  // They count calls, ended or not, and wrap.
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
  bool moved_ = false;                  // since drive()
  std::vector<Request> requests_;       // by message; grows only
  std::vector<std::uint32_t> numbers_;  // by message: in its pair and direction
  std::vector<bool> pending_;           // by message
  Status failure_;
  std::optional<Disagreement> disagreement_;
};

}  // namespace paceline
