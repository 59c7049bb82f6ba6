// A stream of bytes to a peer and one back: what a transport's boxes write to and read from.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include <paceline/status.h>

#include "comm/bytes.h"

namespace paceline {

/// What trying to move bytes through a stream came to.
enum class StreamState {
  kIdle,    ///< nothing to do, or the stream would block
  kMoved,   ///< some bytes went through
  kClosed,  ///< the other side has closed; nothing will come any more
  kBroken,  ///< the stream is of no use in this direction; error() says why
};

struct Transfer {
  StreamState state = StreamState::kIdle;
  std::size_t bytes = 0;  ///< more than none in the state kMoved alone
  /// It has read all that was there, so that another try is worth something once more has come.
  bool was_all = false;
};

class ByteStream {
 public:
  /// At most so many parts are given at once.
  static constexpr std::size_t kMaxParts = 32;

  /// Writes the parts one after the other, as much of them as goes without waiting.
  virtual Transfer write(std::span<const ByteView> parts) = 0;
  /// Fills the parts one after the other with what is there.
  virtual Transfer read(std::span<const std::span<std::byte>> parts) = 0;
  /// write() has taken bytes that have not left. Call it again when there is room, if need be
  /// without parts.
  virtual bool has_unsent() const { return false; }
  /// Bytes that have come and that read() has not handed out.
  virtual std::size_t held_bytes() const { return 0; }
  /// Why the last write() or read() found the stream broken.
  virtual const Status& error() const = 0;

  virtual ~ByteStream() = default;
};

/// The parts of one write.
class ByteParts {
 public:
  bool empty() const { return count_ == 0; }
  /// There is room for it. Nothing is added where it is empty.
  void add(ByteView part) {
    if (!part.empty()) parts_[count_++] = part;
  }
  std::span<const ByteView> all() const { return std::span(parts_).first(count_); }

 private:
  std::array<ByteView, ByteStream::kMaxParts> parts_;
  std::size_t count_ = 0;
};

}  // namespace paceline
