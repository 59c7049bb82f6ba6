// What comes from one peer: receives that wait for messages, messages that wait for receives, and
// the message that is being read.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "comm/transport.h"
#include "comm/transport/byte_stream.h"
#include "comm/wire.h"

namespace paceline {

/// Where the data of loans is.
class Lender {
 public:
  enum class Progress : std::uint8_t { kWaits, kMoved, kDone };
  /// Goes on to copy the oldest loan that has not been given back, all of it to `to`, a piece at a
  /// time; an error where it is no longer what was sent.
  virtual Result<Progress> copy_some(const Loan& loan, std::span<std::byte> to) = 0;
  /// The same at once and without its sender, which is gone.
  virtual Status copy_rest(const Loan& loan, std::span<std::byte> to) = 0;
  /// The oldest loan is not needed any more, and nobody writes to where it was copied any more.
  virtual void give_back() = 0;

 protected:
  ~Lender() = default;
};

class StreamInbox {
 public:
  /// Bytes of messages that are kept before their receives come; beyond, the peer is not read from.
  static constexpr std::size_t kBacklogBytes = std::size_t{4} << 20;
  static constexpr std::size_t kMaxControls = 64;
  static constexpr std::size_t kReadAheadBytes = 64 * 1024;

  /// Up to so many bytes are read that nobody has asked for yet: at least a header. More make fewer
  /// reads, but are copied once more.
  /// The lender is borrowed; where there is none a loan is an error.
  explicit StreamInbox(std::size_t read_ahead_bytes = kReadAheadBytes, Lender* lender = nullptr)
      : read_ahead_bytes_(read_ahead_bytes), lender_(lender) {}

  /// Meets the oldest message of the backlog at once, or waits for one.
  void post(std::span<std::byte> buffer, Request& request);

  /// Reads until the stream has no more, the backlog is full, or the inbox is crowded. Payloads for
  /// which a receive waits go straight into its buffer. Of a loan it copies a piece each time.
  StreamState read(ByteStream& stream);
  const Status& error() const { return error_; }

  /// Does a receive wait, so that reading is worth a try without being told?
  bool expects() const { return !posted_.empty() || receiving_.has_value(); }
  /// What has not come of the payload that is being read.
  std::size_t missing_bytes() const { return target_.size(); }
  /// Is there more of a loan to copy?
  bool borrows() const { return !borrowed_.empty(); }
  /// Copies all of it now; the peer is gone.
  void copy_borrowed();
  /// The size of messages that wait for their receives, with their headers.
  std::size_t backlog_bytes() const { return backlog_bytes_; }
  /// Nothing more is read until a receive is posted.
  bool stalled() const { return stalled_; }
  /// Nothing more is read until the control messages are reported.
  bool crowded() const { return controls_.size() >= kMaxControls; }

  /// Tells the sink, if there is one, of the control messages that have come from `peer` and of the
  /// data that has come without finding a receive. True if there was anything.
  bool report(int peer, TransportSink* sink);

  /// Ends every receive with `why`. The backlog stays for later ones.
  void end_receives(const Status& why);
  /// The same, and all data is thrown away from now on, so that control messages get through.
  void discard_data(const Status& why);
  /// Data that comes from now on is thrown away; the backlog stays.
  void discard_new_data();

 private:
  struct Posted {
    std::span<std::byte> buffer;
    Request* request;
  };
  struct Waiting {
    Signature signature;
    Bytes payload;
    std::optional<Loan> loan{};  // in place of a payload

    std::uint64_t bytes() const { return loan ? loan->bytes : payload.size(); }
    std::size_t kept_bytes() const { return kHeaderBytes + payload.size(); }
  };
  // A loan that has met its receive. They are given back in the order in which they came.
  struct Borrowed {
    Loan loan;
    std::span<std::byte> target;
    Request* request;  // null: it is only given back
  };
  struct Control {
    MessageKind kind;
    Bytes payload;
  };

  bool begin_message();
  bool place_data();
  void begin_posted();
  Transfer fill(ByteStream& stream);
  void take_staged();
  void finish_message();
  void meet(const Posted& posted, const Waiting& message);
  bool copy_some();
  void end_oldest(const Status& how);

  std::deque<Posted> posted_;
  std::deque<Waiting> backlog_;
  std::size_t backlog_bytes_ = 0;
  std::deque<Borrowed> borrowed_;
  std::vector<Control> controls_;
  std::vector<Signature> early_;  // once where it repeats itself

  // The message that is being read: its header, and where the rest of its payload goes.
  std::optional<MessageHeader> current_;
  std::optional<Posted> receiving_;  // the receive whose buffer is being filled
  Bytes kept_;                       // of a control message or for the backlog
  std::span<std::byte> target_;
  std::uint64_t discard_ = 0;  // payload bytes still to come that nobody wants
  bool discards_ = false;      // all data is unwanted
  bool unwanted_ = false;      // the message's receive has ended without it
  bool stalled_ = false;

  // Bytes read beyond what was asked for.
  Bytes stage_;
  std::size_t staged_begin_ = 0;
  std::size_t staged_end_ = 0;
  const std::size_t read_ahead_bytes_;
  Lender* const lender_;
  Status error_;
};

}  // namespace paceline
