// What waits to be sent to one peer, in order.
#pragma once

#include <cstddef>
#include <deque>
#include <span>

#include "comm/transport.h"
#include "comm/wire.h"

namespace paceline {

/// What trying to move bytes through a socket came to.
enum class StreamState {
  kIdle,    ///< nothing to do, or the socket would block
  kMoved,   ///< some bytes went through
  kClosed,  ///< the other side has closed; nothing will come any more
  kBroken,  ///< the connection is of no use; error() says why
};

class TcpOutbox {
 public:
  void push_data(const Signature& signature, std::span<const std::byte> payload, Request& request);
  void push_control(MessageKind kind, ByteView payload);

  bool empty() const { return entries_.empty(); }
  bool has_control() const { return controls_ > 0; }

  /// Writes until all is sent or the socket would block. Header and payload of a message, and
  /// messages that wait together, go out in one system call.
  StreamState flush(int fd);
  const Status& error() const { return error_; }

  /// Ends every data message with `why` and forgets it. Inquiries and answers, which are moot
  /// then, are forgotten unless they have been sent in part; notices and goodbyes stay. False if a
  /// data message had been sent in part, so that nothing can follow it on the same connection.
  bool drop_data(const Status& why);

 private:
  struct Entry {
    MessageKind kind;
    HeaderBytes header;
    std::span<const std::byte> payload;  // the request's, or `control`
    Request* request;                    // null for a control message
    Bytes control;
    std::size_t sent = 0;  // of header and payload together

    std::size_t size() const { return kHeaderBytes + payload.size(); }
  };
  void advance(std::size_t bytes);

  std::deque<Entry> entries_;
  std::size_t controls_ = 0;
  Status error_;
};

}  // namespace paceline
