// The messages of one group between this process and another. Like a virtual lane of InfiniBand
// (Architecture Specification 1.2.1, section 7.6) it shares a connection with others and has flow
// control of its own: a group that receives nothing never holds up another.
//
//   transport → outbox → pieces, as far as there is credit → ProcessLink
//   transport ← inbox ← pieces, or what is held of them    ← ProcessLink
//
// CREDIT  A sender has kWindowBytes of credit at first. Messages give it back when they meet their
//         receives, in steps of kCreditBytes. Without receives only a window comes, and the rest of
//         one message that fits into the backlog. All else stays with the sender, where it costs no
//         copy. The lane holds at most a window that the inbox cannot take.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "comm/transport/byte_stream.h"
#include "comm/transport/frame.h"
#include "comm/transport/stream_inbox.h"
#include "comm/transport/stream_outbox.h"

namespace paceline {

class ProcessLink;

class Lane {
 public:
  static constexpr std::size_t kWindowBytes = std::size_t{1} << 20;
  static constexpr std::uint32_t kCreditBytes = std::uint32_t{256} << 10;

  /// The link is borrowed; it knows the lane from now on until the lane is destroyed. `who`: the
  /// group's name for the other process.
  Lane(ProcessLink& link, std::uint64_t group, Culprit who);
  /// The other process hears that this one has left the group.
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  std::uint64_t group() const { return group_; }

  // For the transport: see comm/transport.h.

  void send(const Signature& signature, std::span<const std::byte> payload, Request& request);
  void receive(std::span<std::byte> buffer, Request& request);
  void tell(MessageKind kind, ByteView payload);
  void abort(const Status& why);
  /// True if there was anything to tell the sink of, or anything moved.
  bool report(int rank, TransportSink* sink);
  bool lost() const { return !loss_.ok(); }
  const Status& loss() const { return loss_; }
  /// Does a receive wait?
  bool expects() const { return !lost() && inbox_.expects(); }
  bool has_to_send() const { return !lost() && !outbox_.empty(); }
  /// Has either process said that it uses the connection for the group?
  bool is_in_use() const { return joined_ || was_joined_; }
  /// Does a control message wait to be sent, or has the last word not arrived? `acknowledged`: so
  /// many of ProcessLink::written() bytes have.
  bool is_telling(std::uint64_t acknowledged) const {
    return !lost() && (outbox_.has_own() || (outbox_.has_last_word() && told_at_ > acknowledged));
  }

  // For the link.

  /// The link has it on its list of those to ask for frames. True if that is new.
  bool set_marked(bool marked) { return std::exchange(marked_, marked) != marked; }
  /// The next frame to send; nothing where there is none, or no credit. The bytes of a piece stay
  /// in the outbox until they have been sent.
  std::optional<FrameHeader> next_frame();
  /// Appends a part of what next_frame() has announced: `bytes` bytes, `offset` bytes behind what
  /// has been sent.
  void gather(std::size_t offset, std::size_t bytes, ByteParts& parts) const {
    outbox_.gather(offset, bytes, parts);
  }
  /// `bytes` more bytes were sent; the last one is byte number `written` of the link.
  void sent(std::size_t bytes, std::uint64_t written);
  void was_joined() { was_joined_ = true; }
  void add_credit(std::uint32_t bytes) { credit_ = std::min(credit_ + bytes, kWindowBytes); }
  /// False if the sender has no credit for a piece of so many bytes.
  bool accepts(std::size_t bytes);
  /// Would the inbox take what comes now?
  bool is_ready() const { return held_.empty() && takes(); }
  /// Reads what comes next of the group's messages. The lane is lost where they are malformed.
  StreamState read(ByteStream& stream);
  /// The inbox took `bytes` bytes from the stream of read().
  void took(std::size_t bytes);
  /// Keeps what comes next until the inbox takes it.
  void hold(ByteView bytes) { held_.insert(held_.end(), bytes.begin(), bytes.end()); }
  /// Ends what is pending and refuses what comes, with `why` and the name of the other process.
  /// Receives meet what has arrived before.
  void lose(const Status& why);

 private:
  // The link reads ahead for all lanes; what an inbox reads ahead is copied once more.
  static constexpr std::size_t kReadAheadBytes = 1024;
  class HeldStream;

  bool takes() const { return !inbox_.stalled() && !inbox_.crowded(); }
  void want();
  void drain();
  void give_credit();
  /// Bytes that have met their receives, and for which no credit was given back.
  std::size_t received() const { return taken_ - std::min(taken_, inbox_.backlog_bytes()); }

  ProcessLink& link_;
  const std::uint64_t group_;
  const Culprit who_;
  StreamOutbox outbox_;
  StreamInbox inbox_{kReadAheadBytes};
  bool marked_ = false;
  bool wanted_ = false;      // something is to be sent, or is to come
  bool joined_ = false;      // the other process has been told so
  bool was_joined_ = false;  // it has said so
  bool has_more_ = false;    // the inbox has stopped before its stream did: it may have read ahead
  std::size_t credit_ = kWindowBytes;
  std::size_t announced_ = 0;  // bytes of pieces that have not been sent
  std::size_t arrived_ = 0;    // bytes that have come and for which no credit was given back
  std::size_t taken_ = 0;      // those of them that the inbox has taken, its backlog too
  std::uint64_t told_at_ = ~std::uint64_t{0};  // where the last word ended
  Bytes held_;
  Status loss_;
};

}  // namespace paceline
