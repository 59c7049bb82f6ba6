// The message of a rank that leaves or fails, and how long the rank stays to send it.
//
// A rank that leaves says goodbye. A rank that has the final error sends it as a notice, and each
// rank passes it on (failure/binomial_graph.h).
#pragma once

#include <paceline/status.h>

#include "collectives/communicator_parts.h"
#include "comm/bytes.h"
#include "comm/transport.h"

namespace paceline {

/// Sends a control message to all peers with a connection. The transport may be null.
void tell_connected(Transport* transport, MessageKind kind, ByteView payload);

/// Everything with the engine's baton held.
class LastMessage {
 public:
  /// The parts are borrowed.
  explicit LastMessage(const CommunicatorParts& parts) : parts_(parts) {}
  LastMessage(const LastMessage&) = delete;
  LastMessage& operator=(const LastMessage&) = delete;

  /// From now on the answer to peers that ask. Not sent by itself.
  void set(MessageKind kind, Bytes payload);
  /// Sends it to all peers with a connection.
  void send() const { tell_connected(parts_.transport.get(), kind_, payload_); }
  /// Sets and sends the final error, to peers with a connection and to those that this rank passes
  /// it on to.
  void spread(const Status& failure);
  /// To a peer that asked.
  void answer(int peer) const { parts_.transport->tell(peer, kind_, payload_); }

  /// Keeps the engine awake until what was sent has left, or until it takes too long. False if
  /// nothing waits to be sent.
  bool begin_flush(TimePoint now);
  bool is_flushing() const { return is_flushing_; }
  /// `moved`: the transport has moved since. True if the flush has ended.
  bool drive(bool moved, TimePoint now);
  void end_flush();
  /// When drive() must be called again at the latest.
  TimePoint wake_at() const { return is_flushing_ ? flush_look_ : TimePoint::max(); }

 private:
  const CommunicatorParts& parts_;
  MessageKind kind_ = MessageKind::kGoodbye;
  Bytes payload_;
  bool is_flushing_ = false;
  TimePoint flush_until_{};
  TimePoint flush_limit_{};
  TimePoint flush_look_{};
};

}  // namespace paceline
