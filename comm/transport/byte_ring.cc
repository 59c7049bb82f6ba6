#include "comm/transport/byte_ring.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "comm/base/assert.h"

namespace paceline {
namespace {

// How much is written before the reader is let at it, so that long messages are copied in and out
// at the same time.
constexpr std::size_t kPublishBytes = 16 * 1024;

template <class Byte>
std::size_t total(std::span<const std::span<Byte>> parts) {
  std::size_t bytes = 0;
  for (const std::span<Byte> part : parts) bytes += part.size();
  return bytes;
}

}  // namespace

ByteRing::ByteRing(std::span<std::byte> memory)
    : lines_(std::launder(reinterpret_cast<Lines*>(memory.data()))),
      bytes_(memory.subspan(sizeof(Lines))) {
  PACELINE_ASSERT(reinterpret_cast<std::uintptr_t>(memory.data()) % alignof(Lines) == 0);
  PACELINE_ASSERT(!bytes_.empty() && (bytes_.size() & (bytes_.size() - 1)) == 0);
}

// At most a ring full of bytes, in two pieces where they go round its end.
void ByteRing::copy_in(std::uint64_t position, ByteView bytes) const {
  const std::size_t begin = static_cast<std::size_t>(position) & (capacity() - 1);
  const std::size_t first = std::min(bytes.size(), capacity() - begin);
  std::memcpy(bytes_.data() + begin, bytes.data(), first);
  if (first < bytes.size()) {
    std::memcpy(bytes_.data(), bytes.data() + first, bytes.size() - first);
  }
}

void ByteRing::copy_out(std::uint64_t position, std::span<std::byte> bytes) const {
  const std::size_t begin = static_cast<std::size_t>(position) & (capacity() - 1);
  const std::size_t first = std::min(bytes.size(), capacity() - begin);
  std::memcpy(bytes.data(), bytes_.data() + begin, first);
  if (first < bytes.size()) {
    std::memcpy(bytes.data() + first, bytes_.data(), bytes.size() - first);
  }
}

Status ByteRing::senseless(const char* whose, std::uint64_t from, std::uint64_t to) const {
  return Status(Code::kPeerLost, Scope::kGroup,
                std::string("a ring in shared memory is damaged: the count of its ") + whose +
                    " went from " + std::to_string(from) + " to " + std::to_string(to) +
                    ", which is impossible; check that all ranks run the same build and that none "
                    "writes past its buffers");
}

// ---- writer ----

// Finds out how much the reader has given back.
bool RingWriter::look() {
  const std::uint64_t head = ring_.lines_->head.load(std::memory_order_seq_cst);
  if (head - head_ > tail_ - head_) {
    error_ = ring_.senseless("reader", head_, head);
    return false;
  }
  head_ = head;
  return true;
}

// False where the reader's count makes no sense. Whether there is enough, room() says.
bool RingWriter::find_room(std::size_t wanted) {
  if (room() < wanted && !look()) return false;
  const bool too_little = room() < wanted;
  if (too_little == wants_room_) return true;
  wants_room_ = too_little;
  ring_.lines_->wants_room.store(too_little ? 1 : 0, std::memory_order_seq_cst);
  return !too_little || look();
}

Transfer RingWriter::write(std::span<const ByteView> parts) {
  const std::size_t wanted = total(parts);
  if (!find_room(wanted)) return {.state = StreamState::kBroken};
  const std::size_t bytes = std::min(wanted, room());
  if (bytes == 0) return {};
  std::size_t left = bytes;
  for (const ByteView part : parts) {
    put(part.first(std::min(part.size(), left)));
    left -= std::min(part.size(), left);
  }
  publish();
  return {.state = StreamState::kMoved, .bytes = bytes};
}

void RingWriter::put(ByteView bytes) {
  while (!bytes.empty()) {
    const ByteView piece = bytes.first(std::min(bytes.size(), kPublishBytes));
    ring_.copy_in(tail_, piece);
    tail_ += piece.size();
    bytes = bytes.subspan(piece.size());
    if (tail_ - published_ >= kPublishBytes) publish();
  }
}

void RingWriter::publish() {
  ring_.lines_->tail.store(tail_, std::memory_order_release);
  published_ = tail_;
}

// ---- reader ----

// Finds out how much the writer has written.
bool RingReader::look() {
  const std::uint64_t tail = ring_.lines_->tail.load(std::memory_order_acquire);
  if (tail - tail_ > ring_.capacity() - unread()) {
    error_ = ring_.senseless("writer", tail_, tail);
    return false;
  }
  tail_ = tail;
  return true;
}

Transfer RingReader::read(std::span<const std::span<std::byte>> parts) {
  has_made_room_ = false;
  // Closed before the look: behind a tail that was loaded later there is nothing.
  const bool closed = writer_has_closed();
  if (unread() == 0 && !look()) return {.state = StreamState::kBroken};
  if (unread() == 0) return {.state = closed ? StreamState::kClosed : StreamState::kIdle};
  std::size_t bytes = 0;
  for (const std::span<std::byte> part : parts) {
    const std::span<std::byte> filled = part.first(std::min(part.size(), unread()));
    take(filled);
    bytes += filled.size();
  }
  return {.state = bytes > 0 ? StreamState::kMoved : StreamState::kIdle, .bytes = bytes};
}

void RingReader::take(std::span<std::byte> into) {
  const std::size_t quarter = ring_.capacity() / 4;
  while (!into.empty()) {
    const std::span<std::byte> piece = into.first(std::min(into.size(), quarter));
    ring_.copy_out(head_, piece);
    head_ += piece.size();
    into = into.subspan(piece.size());
    if (head_ - published_ >= quarter) publish();
  }
}

void RingReader::publish() {
  ring_.lines_->head.store(head_, std::memory_order_seq_cst);
  has_made_room_ |= ring_.lines_->wants_room.load(std::memory_order_seq_cst) != 0;
  published_ = head_;
}

}  // namespace paceline
