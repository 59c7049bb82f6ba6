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

  // Another way to send it is by pieces, each of one message: from the beginning of the message, or
  // a multiple of `most` bytes behind it, to the next or to its end.

  /// The length of the piece that begins `offset` bytes behind what has been sent; 0: nothing is
  /// there.
  std::size_t piece(std::size_t offset, std::size_t most) const;
  /// Adds the part of a piece that begins there: one part of a header, and one of a payload.
  void gather(std::size_t offset, std::size_t bytes, ByteParts& parts) const;
  /// `bytes` more bytes were sent.
  void advance(std::size_t bytes);

  /// Ends every data message with `why` and forgets it, and loans, inquiries and answers, which are
  /// moot then. Notices and goodbyes stay; so does a copy of the rest of what has been sent in
  /// part, or of which one of the first `announced` bytes is, as they could not follow it
  /// otherwise.
  void drop_data(const Status& why, std::size_t announced = 0);
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
    std::size_t unsent() const { return size() - sent; }
    /// Adds `bytes` of it, from the place `begin`.
    void add_to(ByteParts& parts, std::size_t begin, std::size_t bytes) const;
  };
  void push_own(const MessageHeader& header, ByteView payload);
  void drop(Entry& entry, const Status& why);

  std::deque<Entry> entries_;
  bool has_last_word_ = false;
  std::size_t owned_ = 0;  // entries without a request
};

}  // namespace paceline
