// Transport: moves messages between this rank and the other members of one group.
//
// The contract, which tests/conformance/transport_contract.cc holds every transport to:
//
// ORDER     Messages from one rank to another arrive in the order of the sends and meet the
//           receives in the order of the receive() calls. Between different pairs nothing is
//           ordered.
// MATCHING  The k-th data message from a peer meets the k-th receive() from it. A message whose
//           payload is not as long as the receive's buffer ends the receive with Code::kMismatch;
//           the message's signature is given in either case, the buffer is not written.
// BUFFERS   A payload or buffer belongs to the transport from the call until its request has
//           ended. A send ends when its payload may be reused, which says nothing about the
//           receiver. After abort() no buffer is written any more; what a transport lends to its
//           receivers (shm.h) does not arrive behind it.
// REQUESTS  Each request ends exactly once, through its listener, from inside send(), receive(),
//           drive() or abort(). Requests are the caller's and live until they have ended.
// LOSS      When a peer is lost or has left, every pending and later request with it ends with
//           Code::kPeerLost and its name, but receives first meet what had arrived from it, within
//           the backlog's bound. Requests with other peers go on.
// CONTROL   tell() delivers a control message to a peer's sink, whether or not the peer has posted
//           a receive. Control messages keep their place in the order of what was sent to that
//           peer, but overtake data messages that wait there for a receive. Delivery is best
//           effort: a peer that is lost, or cut off, does not get them.
// BACKLOG   What arrives before its receive is kept up to a bound (each transport states it);
//           beyond it the peer is not read from until a receive comes, which stalls its sends.
// THREADS   Everything with the engine's baton held. Whoever owns a transport drives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <paceline/group.h>
#include <paceline/status.h>

#include "comm/base/signature.h"
#include "comm/bytes.h"
#include "comm/engine.h"
#include "comm/wire.h"

namespace paceline {

struct Request;

/// Hears of the end of requests. It may only take note: it must not call the transport back.
class RequestListener {
 public:
  virtual void ended(Request& request) = 0;

 protected:
  ~RequestListener() = default;
};

struct Request {
  RequestListener* listener = nullptr;  // borrowed
  std::uint32_t tag = 0;                // the listener's own
  Status status;                        // set before ended()
  Signature signature;                  // receives: what came

  void end(Status how) {
    status = std::move(how);
    listener->ended(*this);
  }
};

/// It may only take note: it must not call the transport back.
class TransportSink {
 public:
  /// A control message has come.
  virtual void told(int peer, MessageKind kind, ByteView payload) = 0;
  /// A data message has come for which there is no receive yet. Where several messages of a peer
  /// with the same signature wait, it may be said once.
  virtual void waits(int peer, const Signature& signature) = 0;

 protected:
  ~TransportSink() = default;
};

struct TransportCounters {
  std::uint64_t messages_sent = 0;
  std::uint64_t bytes_sent = 0;  // payload
};

/// Why a receive of `expected` bytes cannot take a message of `came` bytes.
Status length_mismatch(std::size_t expected, std::size_t came);

class Transport : public Driver {
 public:
  virtual const Group& group() const = 0;
  /// The sink is borrowed. Without one, control messages are dropped: set it before a peer may tell
  /// anything.
  virtual void set_sink(TransportSink* sink) = 0;

  virtual void send(int peer, const Signature& signature, std::span<const std::byte> payload,
                    Request& request) = 0;
  virtual void receive(int peer, std::span<std::byte> buffer, Request& request) = 0;
  /// Of any kind but data; at most kMaxControlBytes of payload, which are copied.
  virtual void tell(int peer, MessageKind kind, ByteView payload) = 0;
  /// Could a message go to the peer without making a connection first?
  virtual bool connected(int peer) const = 0;

  /// Why the peer is lost; success where that is not known of it. What is not told to the transport
  /// it looks for, now and then.
  virtual Status loss(int peer) = 0;

  /// Ends every pending request with `why`, but a send whose message has been received already
  /// ends well, and refuses later ones with it. Data messages that have begun to leave still arrive
  /// whole, those that come are thrown away. Control messages are still delivered both ways as far
  /// as drive() is called, but inquiries and answers that have not left by now may be dropped.
  virtual void abort(const Status& why) = 0;
  /// True when no control message waits to be sent, nor anything before it, and every notice and
  /// goodbye, with all that was sent before it, has come as far as it must to outlive this end of
  /// the connection. Nobody is woken when it becomes true: look again.
  virtual bool flushed() const = 0;

  /// Does something wait to be sent, or a connection to be made, so that drive() must be called
  /// although no request is pending?
  virtual bool has_work() const = 0;

  /// May a send end before its message has left, so that has_work() outlasts the requests?
  virtual bool ends_sends_early() const { return false; }

  virtual TransportCounters counters() const = 0;
};

}  // namespace paceline
