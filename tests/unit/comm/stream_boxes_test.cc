// Messages through a stream that takes and gives little at a time, and through a real socket.

#include <algorithm>
#include <deque>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "comm/base/unique_fd.h"
#include "comm/transport/socket_stream.h"
#include "comm/transport/stream_inbox.h"
#include "comm/transport/stream_outbox.h"

namespace paceline {
namespace {

// What is written can be read again, at most `grain` bytes at once.
class Trickle final : public ByteStream {
 public:
  explicit Trickle(std::size_t grain) : grain_(grain) {}

  Transfer write(std::span<const ByteView> parts) override {
    std::size_t moved = 0;
    for (const ByteView part : parts) {
      const ByteView taken = part.first(std::min(part.size(), grain_ - moved));
      bytes_.insert(bytes_.end(), taken.begin(), taken.end());
      moved += taken.size();
    }
    return of(moved);
  }
  Transfer read(std::span<const std::span<std::byte>> parts) override {
    std::size_t moved = 0;
    for (const std::span<std::byte> part : parts) {
      for (std::byte& byte : part) {
        if (moved == grain_ || bytes_.empty()) return of(moved);
        byte = bytes_.front();
        bytes_.pop_front();
        ++moved;
      }
    }
    return of(moved);
  }
  const Status& error() const override { return error_; }

 private:
  static Transfer of(std::size_t moved) {
    return {.state = moved > 0 ? StreamState::kMoved : StreamState::kIdle, .bytes = moved};
  }
  const std::size_t grain_;
  std::deque<std::byte> bytes_;
  Status error_;
};

class Ends final : public RequestListener {
 public:
  Request request() { return {.listener = this}; }
  void ended(Request&) override { ++count; }
  int count = 0;
};

// The last of what was reported of peer 5.
class Heard final : public TransportSink {
 public:
  void told(int peer, MessageKind kind, ByteView payload) override {
    if (peer == 5 && kind == MessageKind::kAnswer)
      told_words.assign(payload.begin(), payload.end());
  }
  void waits(int peer, const Signature& signature) override {
    if (peer == 5) waited = signature.sequence;
  }
  Bytes told_words;
  std::uint64_t waited = 0;
};

Bytes counting(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7);
  return bytes;
}

TEST(StreamBoxes, AnySplitOfTheBytesGivesTheSameMessages) {
  for (const std::size_t grain : {1u, 3u, 47u, 48u, 49u, 1000u}) {
    Trickle stream(grain);
    StreamOutbox outbox;
    StreamInbox inbox;
    Ends ends;
    Heard heard;
    const Bytes payload = counting(101), words = counting(9);
    Bytes first(payload.size()), second(payload.size());
    Request requests[] = {ends.request(), ends.request(), ends.request(), ends.request()};
    outbox.push_data({.sequence = 1}, payload, requests[0]);
    outbox.push_control(MessageKind::kAnswer, words);
    outbox.push_data({.sequence = 2}, payload, requests[1]);
    inbox.post(first, requests[2]);
    EXPECT_EQ(outbox.flush(stream), StreamState::kMoved);
    EXPECT_TRUE(outbox.empty());
    EXPECT_EQ(inbox.read(stream), StreamState::kMoved);
    inbox.post(second, requests[3]);  // it had to wait
    EXPECT_EQ(ends.count, 4) << grain;
    EXPECT_TRUE(first == payload && second == payload) << grain;
    EXPECT_TRUE(inbox.report(5, &heard));
    EXPECT_EQ(heard.told_words, words);
    EXPECT_EQ(heard.waited, 2u);
    EXPECT_FALSE(inbox.report(5, &heard));
    EXPECT_EQ(inbox.read(stream), StreamState::kIdle);
  }
}

struct Pair {
  Pair() {
    int fds[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    left = UniqueFd(fds[0]);
    right = UniqueFd(fds[1]);
  }
  UniqueFd left, right;
};

TEST(SocketStream, WritesUntilTheSocketIsFullAndReadsUntilItIsEmpty) {
  Pair pair;
  SocketStream writer(pair.left.get()), reader(pair.right.get());
  const Bytes sent = counting(10'000);
  const ByteView parts[] = {ByteView(sent).first(1), ByteView(sent).subspan(1)};
  std::size_t written = 0, read = 0;
  for (Transfer moved = writer.write(parts); moved.state == StreamState::kMoved;
       moved = writer.write(parts)) {
    written += moved.bytes;
  }
  Bytes head(3), rest(20'000);
  const std::span<std::byte> into[] = {head, rest};
  for (Transfer moved = reader.read(into); moved.state == StreamState::kMoved;
       moved = reader.read(into)) {
    if (read == 0) {
      EXPECT_EQ(head, counting(3));
    }
    read += moved.bytes;
  }
  EXPECT_GT(written, 0u);
  EXPECT_EQ(read, written);
}

TEST(SocketStream, SaysWhenItHasReadAllThatWasThere) {
  Pair pair;
  SocketStream writer(pair.left.get()), reader(pair.right.get());
  const Bytes sent = counting(100);
  const ByteView from[] = {sent};
  Bytes buffer(60);
  const std::span<std::byte> into[] = {buffer};
  EXPECT_EQ(writer.write(from).bytes, 100u);
  EXPECT_FALSE(reader.read(into).was_all);  // there may be more
  const Transfer rest = reader.read(into);
  EXPECT_EQ(rest.bytes, 40u);
  EXPECT_TRUE(rest.was_all);
}

// Passes on to another one and counts.
class Counted final : public ByteStream {
 public:
  explicit Counted(ByteStream& stream) : stream_(stream) {}
  Transfer write(std::span<const ByteView> parts) override { return stream_.write(parts); }
  Transfer read(std::span<const std::span<std::byte>> parts) override {
    ++reads;
    return stream_.read(parts);
  }
  const Status& error() const override { return stream_.error(); }
  int reads = 0;

 private:
  ByteStream& stream_;
};

TEST(SocketStream, AMessageThatIsThereIsReadByOneCall) {
  Pair pair;
  SocketStream writer(pair.left.get()), socket(pair.right.get());
  Counted reader(socket);
  StreamOutbox outbox;
  StreamInbox inbox;
  Ends ends;
  const Bytes payload = counting(1000);
  Bytes got(payload.size());
  Request requests[] = {ends.request(), ends.request()};
  inbox.post(got, requests[0]);
  outbox.push_data({.sequence = 1}, payload, requests[1]);
  EXPECT_EQ(outbox.flush(writer), StreamState::kMoved);
  EXPECT_EQ(inbox.read(reader), StreamState::kMoved);
  EXPECT_EQ(ends.count, 2);
  EXPECT_EQ(got, payload);
  EXPECT_EQ(reader.reads, 1);
}

TEST(SocketStream, KnowsTheEndOfAStreamFromAFailure) {
  Pair pair;
  SocketStream stream(pair.left.get());
  Bytes buffer(10);
  const std::span<std::byte> into[] = {buffer};
  const ByteView from[] = {buffer};
  EXPECT_EQ(stream.read(into).state, StreamState::kIdle);
  pair.right = UniqueFd();
  EXPECT_EQ(stream.read(into).state, StreamState::kClosed);
  EXPECT_EQ(stream.write(from).state, StreamState::kBroken);
  EXPECT_EQ(stream.error().code(), Code::kPeerLost);
}

}  // namespace
}  // namespace paceline
