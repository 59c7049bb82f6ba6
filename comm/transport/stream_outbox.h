// What waits to be sent to one peer, in order.
#pragma once

#include <cstddef>
#include <deque>
#include <span>

#include "comm/transport.h"
#include "comm/transport/byte_stream.h"
#include "comm/wire.h"

namespace paceline {

class StreamOutbox {
 public:
  void push_data(const Signature& signature, std::span<const std::byte> payload, Request& request);
  /// Where the data is, in place of it. Its request is not the outbox's: it ends once the data has
  /// been copied.
  void push_loan(const Signature& signature, const Loan& loan);
  void push_control(MessageKind kind, ByteView payload);

  bool empty() const { return entries_.empty(); }
  /// Does anything wait that outlives its request: control messages, and what they wait behind?
  bool has_own() const { return owned_ > 0; }

  /// Has a notice or a goodbye been sent, or does one wait?
  bool has_last_word() const { return has_last_word_; }

  /// Writes until all is sent or the stream would block. Header and payload of a message, and
  /// messages that wait together, go out in one write.
  StreamState flush(ByteStream& stream);

  /// Ends every data message with `why` and forgets it, and loans, inquiries and answers, which are
  /// moot then. Notices and goodbyes stay; so does a copy of the rest of what has been sent in
  /// part, as they could not follow it otherwise.
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
  void push_own(const MessageHeader& header, ByteView payload);
  void advance(std::size_t bytes);
  void drop(Entry& entry, const Status& why);

  std::deque<Entry> entries_;
  bool has_last_word_ = false;
  std::size_t owned_ = 0;  // entries without a request
};

}  // namespace paceline
