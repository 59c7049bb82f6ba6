// What comes through is what was sent, or an error.

#include "comm/transport/sealed_stream.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "comm/base/random.h"

namespace paceline {
namespace {

using State = StreamState;

// The wire between two ends, which the test can change. It takes `room` more bytes.
struct Wire {
  std::deque<std::byte> bytes;
  std::size_t room = SIZE_MAX;
  std::size_t grain = SIZE_MAX;  // bytes that come at once
};

class End final : public ByteStream {
 public:
  explicit End(Wire& wire) : wire_(wire) {}

  Transfer write(std::span<const ByteView> parts) override {
    std::size_t moved = 0;
    for (const ByteView part : parts) {
      const ByteView taken = part.first(std::min(part.size(), wire_.room - moved));
      wire_.bytes.insert(wire_.bytes.end(), taken.begin(), taken.end());
      moved += taken.size();
    }
    wire_.room -= moved;
    return {.state = moved > 0 ? State::kMoved : State::kIdle, .bytes = moved};
  }
  Transfer read(std::span<const std::span<std::byte>> parts) override {
    std::size_t moved = 0, asked = 0;
    for (const std::span<std::byte> part : parts) {
      asked += part.size();
      for (std::byte& byte : part) {
        if (moved == wire_.grain || wire_.bytes.empty()) break;
        byte = wire_.bytes.front();
        wire_.bytes.pop_front();
        ++moved;
      }
    }
    return {.state = moved > 0 ? State::kMoved : State::kIdle,
            .bytes = moved,
            .was_all = moved < asked};
  }
  const Status& error() const override { return error_; }

 private:
  Wire& wire_;
  Status error_;
};

class SealedStreamTest : public ::testing::Test {
 protected:
  SealedStreamTest() { begin(secret(1)); }

  static Mac secret(int number) {
    Mac mac;
    mac.fill(static_cast<std::byte>(number));
    return mac;
  }
  void begin(const Mac& receivers_secret) {
    wire_ = {};
    sender_ = std::make_unique<SealedStream>(std::make_unique<End>(wire_), secret(1));
    receiver_ = std::make_unique<SealedStream>(std::make_unique<End>(wire_), receivers_secret);
  }

  static Bytes some_bytes(std::size_t count, Random& random) {
    Bytes bytes(count);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
    return bytes;
  }
  // All of it, in as many writes as it takes.
  void send(ByteView bytes) {
    while (!bytes.empty()) {
      const Transfer sent = sender_->write(std::span(&bytes, 1));
      ASSERT_EQ(sent.state, State::kMoved);
      bytes = bytes.subspan(sent.bytes);
    }
  }
  // What comes until nothing more does.
  Bytes receive(std::size_t at_once = 1000) {
    Bytes all;
    for (;;) {
      Bytes part(at_once);
      const std::span<std::byte> place(part);
      last_ = receiver_->read(std::span(&place, 1));
      if (last_.state != State::kMoved) return all;
      all.insert(all.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(last_.bytes));
    }
  }

  Wire wire_;
  std::unique_ptr<SealedStream> sender_, receiver_;
  Transfer last_;
};

TEST_F(SealedStreamTest, WhatIsSentArrives) {
  Random random(1);
  Bytes all, came;
  for (const std::size_t count : {1u, 52u, 4096u, 65535u, 65536u, 65537u, 300000u}) {
    const Bytes bytes = some_bytes(count, random);
    all.insert(all.end(), bytes.begin(), bytes.end());
    wire_.grain = 1 + random.below(9000);
    send(bytes);
    const Bytes part = receive(1 + random.below(100000));
    came.insert(came.end(), part.begin(), part.end());
  }
  EXPECT_EQ(came, all);
  EXPECT_EQ(last_.state, State::kIdle);
  EXPECT_EQ(receiver_->held_bytes(), 0u);
}

TEST_F(SealedStreamTest, SeveralPartsAreOneRecord) {
  const Bytes header(48, std::byte{1}), payload(4, std::byte{2});
  const ByteView parts[] = {header, payload};
  EXPECT_EQ(sender_->write(parts).bytes, 52u);
  EXPECT_EQ(wire_.bytes.size(), 4u + 52 + SealedStream::kTagBytes);
  EXPECT_EQ(receive().size(), 52u);
}

TEST_F(SealedStreamTest, WhatTheWireDoesNotTakeIsSentLater) {
  const Bytes bytes(1000, std::byte{3});
  const ByteView part(bytes);
  wire_.room = 10;
  EXPECT_EQ(sender_->write(std::span(&part, 1)).bytes, 1000u) << "it is taken";
  EXPECT_TRUE(sender_->has_unsent());
  EXPECT_EQ(sender_->write(std::span(&part, 1)).state, State::kIdle) << "no more is";
  EXPECT_TRUE(receive().empty());
  EXPECT_EQ(receiver_->held_bytes(), 10u);
  wire_.room = SIZE_MAX;
  (void)sender_->write({});
  EXPECT_FALSE(sender_->has_unsent());
  EXPECT_EQ(receive(), bytes);
}

// "Nothing more has come" must not be said where a record is there.
TEST_F(SealedStreamTest, AllIsSaidOnlyWhereNothingIsHeld) {
  for (int i = 0; i < 3; ++i) send(Bytes(20, std::byte{4}));
  for (int i = 0; i < 3; ++i) {
    Bytes part(100);
    const std::span<std::byte> place(part);
    const Transfer got = receiver_->read(std::span(&place, 1));
    EXPECT_EQ(got.bytes, 20u);
    EXPECT_EQ(got.was_all, i == 2);
  }
}

TEST_F(SealedStreamTest, EveryBitThatChangesIsFound) {
  Random random(2);
  const Bytes bytes = some_bytes(100, random);
  send(bytes);
  const std::size_t size = wire_.bytes.size();
  for (std::size_t at = 0; at < size; ++at) {
    begin(secret(1));
    send(bytes);
    send(bytes);  // else a longer length has its receiver wait for the rest
    wire_.bytes[at] ^= static_cast<std::byte>(1u << random.below(8));
    EXPECT_TRUE(receive().empty()) << at;
    // A length may also have become one that has not come in full.
    const bool waits = last_.state == State::kIdle && at < 4;
    EXPECT_TRUE(waits || last_.state == State::kBroken) << at;
  }
  EXPECT_NE(receiver_->error().text().find("changed"), std::string::npos);
}

TEST_F(SealedStreamTest, RecordsThatAreMissingRepeatedOrExchangedAreFound) {
  constexpr std::size_t kRecord = 4 + 30 + SealedStream::kTagBytes;
  const auto three = [this] {
    begin(secret(1));
    for (int i = 0; i < 3; ++i) send(Bytes(30, static_cast<std::byte>(i)));
  };
  three();
  wire_.bytes.erase(wire_.bytes.begin(), wire_.bytes.begin() + kRecord);
  EXPECT_TRUE(receive().empty());
  EXPECT_EQ(last_.state, State::kBroken);
  three();
  const std::vector<std::byte> first(wire_.bytes.begin(), wire_.bytes.begin() + kRecord);
  wire_.bytes.insert(wire_.bytes.begin() + kRecord, first.begin(), first.end());
  EXPECT_EQ(receive().size(), 30u);
  EXPECT_EQ(last_.state, State::kBroken);
  three();
  std::swap_ranges(wire_.bytes.begin(), wire_.bytes.begin() + kRecord,
                   wire_.bytes.begin() + kRecord);
  EXPECT_TRUE(receive().empty());
  EXPECT_EQ(last_.state, State::kBroken);
}

TEST_F(SealedStreamTest, AnotherConnectionsSecretDoesNotFit) {
  begin(secret(2));
  send(Bytes(30, std::byte{5}));
  EXPECT_TRUE(receive().empty());
  EXPECT_EQ(last_.state, State::kBroken);
  EXPECT_EQ(receiver_->error().code(), Code::kPeerLost);
}

}  // namespace
}  // namespace paceline
