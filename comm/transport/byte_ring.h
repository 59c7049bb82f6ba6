// A ring of bytes in shared memory from one writer to one reader, in any two processes.
//
// `tail` counts the bytes that were ever written, `head` those that were read and whose room may
// be used again; both only grow, each has one writer and lies in a line of its own. The writer
// stores bytes and then the tail (release), the reader loads the tail (acquire) and then the
// bytes; the same holds of the head and the room that it gives back:
//
//      0        head            tail       capacity
//      |  free   |  unread bytes  |  free   |         positions are counts modulo the capacity
//
// The reader moves the head on by a quarter of the ring at a time, so that short messages cost no
// store to a line that the writer reads; the writer finds three quarters of a ring at the worst.
// One that finds too little says so before its last look at the head, and the reader looks for that
// after it has moved the head: either the writer sees the room or the reader knows that it must
// wake the writer (Dekker's algorithm).
//
// The other process is not trusted: counts that make no sense break the ring, and nothing that lies
// in shared memory decides where this process reads or writes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "comm/transport/byte_stream.h"

namespace paceline {

/// Where a ring lies: a value. Zeroed memory is a good initial state.
class ByteRing {
 public:
  /// Of memory for a ring of `capacity` bytes, a power of two.
  static constexpr std::size_t bytes_for(std::size_t capacity) { return sizeof(Lines) + capacity; }
  /// Borrowed, of bytes_for(capacity) and aligned to a cache line.
  explicit ByteRing(std::span<std::byte> memory);

  std::size_t capacity() const { return bytes_.size(); }

 private:
  friend class RingWriter;
  friend class RingReader;

  struct Lines {
    alignas(64) std::atomic<std::uint64_t> tail;  // these three by the writer
    std::atomic<std::uint32_t> closed;
    std::atomic<std::uint32_t> wants_room;
    alignas(64) std::atomic<std::uint64_t> head;  // by the reader
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

  void copy_in(std::uint64_t position, ByteView bytes) const;
  void copy_out(std::uint64_t position, std::span<std::byte> bytes) const;
  Status senseless(const char* whose, std::uint64_t from, std::uint64_t to) const;

  Lines* lines_;
  std::span<std::byte> bytes_;
};

/// One per ring, by one thread at a time.
class RingWriter {
 public:
  /// Of a ring that nothing has been written to.
  explicit RingWriter(ByteRing ring) : ring_(ring) {}

  /// Writes as much as there is room for; kBroken where the reader's count makes no sense.
  Transfer write(std::span<const ByteView> parts);
  /// Nothing will be written any more: the reader hears of it once it has read what is there.
  void close() { ring_.lines_->closed.store(1, std::memory_order_release); }
  const Status& error() const { return error_; }

 private:
  bool look();
  bool find_room(std::size_t wanted);
  std::size_t room() const { return ring_.capacity() - static_cast<std::size_t>(tail_ - head_); }
  void put(ByteView bytes);
  void publish();

  const ByteRing ring_;
  std::uint64_t tail_ = 0;
  std::uint64_t published_ = 0;  // of the tail
  std::uint64_t head_ = 0;       // as last seen
  bool wants_room_ = false;
  Status error_;
};

/// One per ring, by one thread at a time.
class RingReader {
 public:
  /// Of a ring that nothing has been read from.
  explicit RingReader(ByteRing ring) : ring_(ring) {}

  /// Is there anything to read, be it the end? Two loads of a line that only the writer changes.
  bool has_input() const {
    return ring_.lines_->tail.load(std::memory_order_relaxed) != head_ || writer_has_closed();
  }
  bool writer_has_closed() const {
    return ring_.lines_->closed.load(std::memory_order_acquire) != 0;
  }
  /// Reads what is there; kClosed behind the last byte of a writer that has closed, kBroken where
  /// its count makes no sense.
  Transfer read(std::span<const std::span<std::byte>> parts);
  /// Has the last read() made room for a writer that had found too little?
  bool has_made_room() const { return has_made_room_; }
  const Status& error() const { return error_; }

 private:
  bool look();
  std::size_t unread() const { return static_cast<std::size_t>(tail_ - head_); }
  void take(std::span<std::byte> into);
  void publish();

  const ByteRing ring_;
  std::uint64_t head_ = 0;
  std::uint64_t published_ = 0;  // of the head
  std::uint64_t tail_ = 0;       // as last seen
  bool has_made_room_ = false;
  Status error_;
};

}  // namespace paceline
