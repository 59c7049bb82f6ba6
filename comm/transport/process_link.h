// All groups' messages between this process and another, as frames of two streams: one that is
// written, and one that is read. It knows no sockets, so it runs simulated too.
//
// Everything that comes is taken from the stream at once: a group's inbox takes it, or its lane
// holds it, or it is thrown away because its group is not here any more. Groups send in turn, a
// frame each.
//
// JOIN   A process that has something to send to another, or waits for something from it, says for
//        which group. One that is not in the group, or not any more, answers that it has left.
// LEAVE  A process that leaves a group tells all that have joined it with this process.
// LOSS   When the connections end, all groups have lost the other process. Groups that are made
//        later use new connections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>

#include "comm/transport/byte_stream.h"
#include "comm/transport/frame.h"
#include "comm/transport/lane.h"

namespace paceline {

class ProcessLink {
 public:
  ProcessLink() = default;
  ProcessLink(const ProcessLink&) = delete;
  ProcessLink& operator=(const ProcessLink&) = delete;

  /// By Lane alone. The group has no other lane here.
  void add(Lane& lane);
  void remove(Lane& lane);
  /// The lane may have something to send.
  void mark(Lane& lane);
  /// Its outbox is going to be emptied: the link keeps a copy of what it has begun to send of it.
  void keep_announced(Lane& lane);
  /// The other process is told that this one has left the group.
  void leave(std::uint64_t group) { leaving_.push_back(group); }

  bool has_to_send() const { return !frames_.empty() || !ready_.empty() || !leaving_.empty(); }
  /// Writes until all is sent or the stream would block.
  StreamState flush(ByteStream& out);
  /// Bytes that have been written to the streams since the last loss.
  std::uint64_t written() const { return written_; }

  /// Reads until the stream has no more. Code::kUnavailable in error(), with kBroken: the other
  /// process does not keep to the protocol.
  StreamState read(ByteStream& in);
  const Status& error() const { return error_; }
  /// Bytes of the current frame that have not been read. They come before anything else.
  std::size_t missing_bytes() const { return left_ > staged() ? left_ - staged() : 0; }

  /// The streams have ended.
  void lose(const Status& why);

 private:
  class Body;
  struct Frame {
    FrameHeaderBytes header{};
    std::size_t bytes = 0;  // of the piece
    Lane* lane = nullptr;   // the piece is in its outbox; null: in `own`
    Bytes own{};
    std::size_t sent = 0;  // of header and piece together

    std::size_t size() const { return kFrameHeaderBytes + bytes; }
    std::size_t unsent_of_piece() const { return sent < kFrameHeaderBytes ? bytes : size() - sent; }
  };
  // Limits of one write. A frame has at most three parts: its header, and a piece with a message's.
  static constexpr std::size_t kMaxFrames = ByteStream::kMaxParts / 3;
  static constexpr std::size_t kEnoughBytes = 2 * kMaxPieceBytes;
  static constexpr std::size_t kMaxLeaving = 65536;
  static constexpr std::size_t kReadAheadBytes = std::size_t{64} << 10;

  void announce();
  void push(const FrameHeader& header, Lane* lane);
  ByteParts gather() const;
  void advance(std::size_t bytes);

  std::size_t staged() const { return staged_end_ - staged_begin_; }
  ByteView stage_view() const { return ByteView(stage_).subspan(staged_begin_, staged()); }
  Status begin_frame();
  StreamState read_piece(ByteStream& in);
  StreamState fill_stage(ByteStream& in);
  Transfer read_body(ByteStream& in, std::span<const std::span<std::byte>> parts);
  void make_stage();
  void drop_staged(std::size_t bytes);

  std::map<std::uint64_t, Lane*> lanes_;  // by group
  std::deque<Lane*> ready_;               // each once
  std::deque<std::uint64_t> leaving_;     // groups
  std::deque<Frame> frames_;              // that are being written
  std::uint64_t written_ = 0;

  std::size_t left_ = 0;  // of the piece that is being read
  Lane* to_ = nullptr;    // it; null: it is thrown away
  Bytes stage_;           // read beyond it
  std::size_t staged_begin_ = 0;
  std::size_t staged_end_ = 0;
  bool has_all_ = false;  // that was there
  Status error_;
};

}  // namespace paceline
