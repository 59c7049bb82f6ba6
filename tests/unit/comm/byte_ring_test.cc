// A ring of bytes between two threads, between two processes, and with a liar at the other end.

#include "comm/transport/byte_ring.h"

#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/shared_segment.h"
#include "tests/unit/comm/patience.h"

namespace paceline {
namespace {

constexpr std::size_t kCapacity = 256;

class ByteRingTest : public ::testing::Test {
 protected:
  Transfer write(ByteView bytes) {
    const ByteView parts[] = {bytes};
    return writer_.write(parts);
  }
  Transfer read(std::span<std::byte> into) {
    const std::span<std::byte> parts[] = {into};
    return reader_.read(parts);
  }
  /// Overwrites a count, as a broken or hostile process would.
  void claim(std::size_t offset, std::uint64_t count) {
    std::memcpy(segment_.memory().data() + offset, &count, sizeof count);
  }

  static constexpr std::size_t kTailOffset = 0, kHeadOffset = 64;
  SharedSegment segment_ = SharedSegment::create_nameless(ByteRing::bytes_for(kCapacity)).value();
  const ByteRing ring_{segment_.memory()};
  RingWriter writer_{ring_};
  RingReader reader_{ring_};
};

std::byte byte_at(std::size_t position) { return static_cast<std::byte>(position * 31 >> 3); }

// Of lengths that come round the ring's end everywhere, with parts that hold nothing between them.
void write_stream(RingWriter& writer, std::size_t bytes) {
  const Deadline deadline = testing::patient();
  Bytes piece;
  for (std::size_t sent = 0; sent < bytes && !deadline.passed(SystemClock().now());) {
    piece.resize(std::min<std::size_t>(1 + sent % 97, bytes - sent));
    for (std::size_t i = 0; i < piece.size(); ++i) piece[i] = byte_at(sent + i);
    const ByteView parts[] = {
        ByteView(piece).first(piece.size() / 2), {}, ByteView(piece).subspan(piece.size() / 2)};
    const Transfer moved = writer.write(parts);
    sent += moved.bytes;
    if (moved.state == StreamState::kIdle) ::sched_yield();
  }
  writer.close();
}

// How many bytes came as they should before the end, or before the first that did not.
std::size_t read_stream(RingReader& reader) {
  const Deadline deadline = testing::patient();
  std::size_t got = 0;
  Bytes head(5), rest(101);
  while (!deadline.passed(SystemClock().now())) {
    const std::span<std::byte> parts[] = {head, std::span(rest).first(1 + got % 101)};
    const Transfer moved = reader.read(parts);
    if (moved.state == StreamState::kClosed) return got;
    for (std::size_t i = 0; i < moved.bytes; ++i, ++got) {
      if ((i < head.size() ? head[i] : rest[i - head.size()]) != byte_at(got)) return got;
    }
    if (moved.state == StreamState::kIdle) ::sched_yield();
  }
  return got;
}

TEST_F(ByteRingTest, GivesWhatItWasGivenAndNoMoreThanItHolds) {
  const Bytes sent(kCapacity + 44, std::byte{7});
  Bytes got(kCapacity);
  EXPECT_EQ(read(got).state, StreamState::kIdle);
  EXPECT_FALSE(reader_.has_input());
  EXPECT_EQ(write(sent).bytes, kCapacity);
  EXPECT_EQ(write(sent).state, StreamState::kIdle);
  EXPECT_TRUE(reader_.has_input());
  EXPECT_EQ(read(got).bytes, kCapacity);
  EXPECT_EQ(got, Bytes(kCapacity, std::byte{7}));
  EXPECT_EQ(read(got).state, StreamState::kIdle);
  EXPECT_EQ(write(sent).bytes, kCapacity);
}

TEST_F(ByteRingTest, NothingGivenIsNothingMoved) {
  EXPECT_EQ(write({}).state, StreamState::kIdle);
  EXPECT_EQ(write(Bytes(3)).bytes, 3u);
  EXPECT_EQ(read({}).state, StreamState::kIdle);
}

// Who is to be woken: a writer that had more to write than there was room for, and no other.
TEST_F(ByteRingTest, TellsOfRoomThatWasWanted) {
  Bytes got(kCapacity);
  EXPECT_EQ(write(Bytes(kCapacity)).bytes, kCapacity);
  EXPECT_EQ(read(got).bytes, kCapacity);
  EXPECT_FALSE(reader_.has_made_room());
  EXPECT_EQ(write(Bytes(kCapacity + 1)).bytes, kCapacity);
  EXPECT_EQ(read(std::span(got).first(1)).bytes, 1u);
  EXPECT_FALSE(reader_.has_made_room());  // too little to be worth it
  EXPECT_EQ(read(got).bytes, kCapacity - 1);
  EXPECT_TRUE(reader_.has_made_room());
  EXPECT_EQ(write(Bytes(1)).bytes, 1u);
  EXPECT_EQ(read(got).bytes, 1u);
  EXPECT_FALSE(reader_.has_made_room());
}

TEST_F(ByteRingTest, EndsBehindTheLastByte) {
  EXPECT_EQ(write(Bytes(3)).bytes, 3u);
  writer_.close();
  Bytes got(2);
  EXPECT_EQ(read(got).bytes, 2u);
  EXPECT_EQ(read(got).bytes, 1u);
  EXPECT_TRUE(reader_.has_input());
  EXPECT_EQ(read(got).state, StreamState::kClosed);
}

TEST_F(ByteRingTest, CountsThatMakeNoSenseBreakIt) {
  EXPECT_EQ(write(Bytes(10)).bytes, 10u);
  Bytes got(kCapacity);
  EXPECT_EQ(read(std::span(got).first(5)).bytes, 5u);
  for (const std::uint64_t count :
       {std::uint64_t{11}, std::uint64_t{kCapacity} * 7, ~std::uint64_t{0}}) {
    claim(kHeadOffset, count);  // more was read than was written
    EXPECT_EQ(write(Bytes(kCapacity)).state, StreamState::kBroken) << count;
    EXPECT_EQ(writer_.error().code(), Code::kPeerLost);
  }
  EXPECT_EQ(read(got).bytes, 5u);
  for (const std::uint64_t count :
       {std::uint64_t{9}, 11 + std::uint64_t{kCapacity}, ~std::uint64_t{0}}) {
    claim(kTailOffset, count);  // less was written than was read, or more than fits
    EXPECT_EQ(read(got).state, StreamState::kBroken) << count;
    EXPECT_EQ(reader_.error().code(), Code::kPeerLost);
  }
}

TEST_F(ByteRingTest, CarriesAStreamBetweenThreads) {
  constexpr std::size_t kBytes = 300'001;
  std::thread other([this] { write_stream(writer_, kBytes); });
  EXPECT_EQ(read_stream(reader_), kBytes);
  other.join();
}

TEST_F(ByteRingTest, CarriesAStreamBetweenProcesses) {
  constexpr std::size_t kBytes = 300'001;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    write_stream(writer_, kBytes);
    ::_exit(0);
  }
  EXPECT_EQ(read_stream(reader_), kBytes);
  int wait_status = 0;
  EXPECT_EQ(::waitpid(child, &wait_status, 0), child);
  EXPECT_EQ(wait_status, 0);
}

}  // namespace
}  // namespace paceline
