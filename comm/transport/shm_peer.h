// One peer as the shared-memory transport sees it: the stream to it, and what waits there.
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "comm/transport/shm_loans.h"
#include "comm/transport/shm_stream.h"
#include "comm/transport/stream_inbox.h"
#include "comm/transport/stream_outbox.h"

namespace paceline {

class ShmPeer {
 public:
  ShmPeer(const ShmStream::Ends& ends, std::unique_ptr<ShmLoans> loans, Culprit who)
      : inbox(kReadAheadBytes, loans.get()),
        loans_(std::move(loans)),
        stream_(ends),
        who_(std::move(who)) {}
  ~ShmPeer() { stream_.close(); }
  ShmPeer(const ShmPeer&) = delete;
  ShmPeer& operator=(const ShmPeer&) = delete;

  bool lost() const { return !loss_.ok(); }
  const Status& loss() const { return loss_; }
  /// Does something wait for the peer to come along?
  bool awaited() const {
    return has_to_send() || (!lost() && (inbox.expects() || inbox.borrows()));
  }
  /// Is there anything that the peer has not taken?
  bool has_to_send() const { return !lost() && (!outbox.empty() || loans_->has_lent()); }

  /// Into the outbox: where the payload is, if it is a long one in a buffer, or the payload.
  void push(const Signature& signature, std::span<const std::byte> payload, Request& request);
  /// Sends what can be sent; true if anything moved.
  bool flush();
  /// Sends and reads what can be; true if anything moved. A few loads if nothing did.
  bool drive() {
    const bool sent = !outbox.empty() && flush();
    const bool returned = loans_->has_lent() && (loans_->collect() || loans_->help());
    return (has_work() && read()) || sent || returned;
  }
  /// Its process has ended; it is lost once what it had written is read.
  void set_gone() { stream_.set_gone(); }
  bool has_gone() const { return stream_.has_gone(); }
  /// Ends data requests and throws away what comes for them; control messages still go both ways.
  void abort(const Status& why);

  StreamOutbox outbox;
  StreamInbox inbox;

 private:
  // Of a ring it costs nothing to come back for more, but what is read ahead is copied twice.
  static constexpr std::size_t kReadAheadBytes = 1024;

  bool has_work() const {
    return !lost() && (inbox.borrows() || (!inbox.stalled() && (stream_.has_input() || more_)));
  }
  bool read();
  void lose(const Status& why);

  const std::unique_ptr<ShmLoans> loans_;
  ShmStream stream_;
  bool more_ = false;  // the inbox has stopped before the stream did: it may have read ahead
  const Culprit who_;
  Status loss_;
};

}  // namespace paceline
