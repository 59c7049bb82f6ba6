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
  /// Does anything wait that outlives its request: control messages, and what they wait behind?
  bool has_own() const { return owned_ > 0; }

  /// Has a notice or a goodbye been sent, or does one wait?
  bool has_last_word() const { return has_last_word_; }

  /// Writes until all is sent or the socket would block. Header and payload of a message, and
  /// messages that wait together, go out in one system call.
  StreamState flush(int fd);
  const Status& error() const { return error_; }

  /// Ends every data message with `why` and forgets it, and inquiries and answers, which are moot
  /// then. Notices and goodbyes stay; so does a copy of the rest of what has been sent in part, as
  /// they could not follow it otherwise.
  void drop_data(const Status& why);
  /// The same with everything: nothing more can be sent.
  void drop_all(const Status& why);

 private:
  struct Entry {
    MessageKind kind;
    HeaderBytes header;
    std::span<const std::byte> payload;  // the request's, or `own`
    Request* request;                    // null where the payload is the entry's own
    Bytes own;
    std::size_t sent = 0;  // of header and payload together

    std::size_t size() const { return kHeaderBytes + payload.size(); }
  };
  void advance(std::size_t bytes);
  void drop(Entry& entry, const Status& why);

  std::deque<Entry> entries_;
  bool has_last_word_ = false;
  std::size_t owned_ = 0;  // entries without a request
  Status error_;
};

}  // namespace paceline
