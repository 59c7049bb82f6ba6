// The store's rules, byte by byte and without a socket.

#include "comm/store_book.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline {
namespace {

using ClientId = StoreBook::ClientId;
using Kind = StoreFrameKind;

StoreFrame set(std::uint32_t id, std::string key, std::string value) {
  return {.kind = Kind::kSet, .id = id, .key = std::move(key), .value = std::move(value)};
}
StoreFrame get(std::uint32_t id, std::string key) {
  return {.kind = Kind::kGet, .id = id, .key = std::move(key)};
}
StoreFrame value(std::uint32_t id, std::string text) {
  return {.kind = Kind::kValue, .id = id, .value = std::move(text)};
}
StoreFrame done(std::uint32_t id) { return {.kind = Kind::kDone, .id = id}; }

constexpr StoreBook::Limits kSmall{
    .entries = 2, .stored_bytes = 10, .waiting_gets = 2, .unsent_bytes = 100};

class StoreBookTest : public ::testing::Test {
 protected:
  void receive(ClientId client, const StoreFrame& frame) {
    Bytes bytes;
    append_frame(frame, bytes);
    book_.receive(client, bytes);
  }
  // All that the client is to be sent, taken as sent.
  std::vector<StoreFrame> answers(ClientId client) {
    ByteView bytes = book_.unsent(client);
    const std::size_t size = bytes.size();
    std::vector<StoreFrame> frames;
    while (!bytes.empty()) frames.push_back(*take_frame(bytes).value());
    book_.sent(client, size);
    return frames;
  }
  std::vector<StoreFrame> exchange(ClientId client, const StoreFrame& frame) {
    receive(client, frame);
    return answers(client);
  }

  StoreBook book_{nullptr, kSmall};
  const ClientId a_ = book_.admit();
  const ClientId b_ = book_.admit();
};

using Frames = std::vector<StoreFrame>;

TEST_F(StoreBookTest, ASetIsDoneAndAGetIsAnswered) {
  EXPECT_EQ(exchange(a_, set(1, "k", "v")), Frames{done(1)});
  EXPECT_EQ(exchange(b_, get(2, "k")), Frames{value(2, "v")});
  EXPECT_EQ(exchange(a_, set(3, "k", "")), Frames{done(3)});
  EXPECT_EQ(exchange(b_, get(4, "k")), Frames{value(4, "")});
  EXPECT_EQ(book_.counts(), (StoreBook::Counts{.clients = 2, .entries = 1}));
}

TEST_F(StoreBookTest, RequestsMayComeByteByByte) {
  Bytes bytes;
  append_frame(set(1, "k", "v"), bytes);
  append_frame(get(2, "k"), bytes);
  for (const std::byte& byte : bytes) book_.receive(a_, ByteView(&byte, 1));
  EXPECT_EQ(answers(a_), (Frames{done(1), value(2, "v")}));
}

TEST_F(StoreBookTest, WhoWaitsIsAnsweredOnce) {
  receive(a_, get(1, "k"));
  receive(b_, get(1, "k"));
  EXPECT_EQ(book_.counts().waiting_gets, 2u);
  EXPECT_EQ(answers(a_), Frames{});
  EXPECT_EQ(exchange(b_, set(2, "k", "v")), (Frames{done(2), value(1, "v")}));
  EXPECT_EQ(exchange(b_, set(3, "k", "w")), Frames{done(3)});
  EXPECT_EQ(answers(a_), Frames{value(1, "v")}) << "the value of when it was answered";
  EXPECT_EQ(book_.counts().waiting_gets, 0u);
}

TEST_F(StoreBookTest, TheRequestsOfAForgottenClientGoToo) {
  receive(a_, get(1, "k"));
  receive(b_, get(2, "k"));
  book_.forget(a_);
  EXPECT_EQ(book_.counts(), (StoreBook::Counts{.clients = 1, .waiting_gets = 1}));
  EXPECT_EQ(exchange(b_, set(3, "k", "v")), (Frames{done(3), value(2, "v")}));
  EXPECT_NE(book_.admit(), a_) << "ids are not used twice";
}

TEST_F(StoreBookTest, OfABrokenClientNothingIsTakenAnyMore) {
  Bytes bytes;
  append_frame(set(1, "before", "v"), bytes);
  append_frame(done(2), bytes);
  append_frame(set(3, "after", "v"), bytes);
  book_.receive(a_, bytes);
  EXPECT_TRUE(book_.broken(a_));
  EXPECT_EQ(exchange(a_, set(4, "later", "v")), Frames{done(1)});
  EXPECT_EQ(book_.counts().entries, 1u);
  EXPECT_FALSE(book_.broken(b_));
}

TEST_F(StoreBookTest, AFullStoreRefusesByNameAndKeepsWhatItHas) {
  ASSERT_EQ(exchange(a_, set(1, "1", "12345")), Frames{done(1)});
  const Frames too_long = exchange(a_, set(2, "2", "123456"));
  ASSERT_EQ(too_long.size(), 1u);
  EXPECT_EQ(too_long[0].kind, Kind::kRefused);
  EXPECT_NE(too_long[0].value.find("full"), std::string::npos);
  EXPECT_EQ(exchange(a_, set(3, "2", "12345")), Frames{done(3)});
  EXPECT_EQ(exchange(a_, set(4, "3", ""))[0].kind, Kind::kRefused) << "the third entry";
  EXPECT_EQ(book_.counts(), (StoreBook::Counts{.clients = 2, .entries = 2, .stored_bytes = 10}));
  EXPECT_EQ(exchange(a_, set(5, "2", "")), Frames{done(5)});
  EXPECT_EQ(book_.counts().stored_bytes, 5u);
}

TEST_F(StoreBookTest, OneMayOnlyWaitForSoManyKeys) {
  receive(a_, get(1, "x"));
  receive(a_, get(2, "y"));
  const Frames refused = exchange(a_, get(3, "z"));
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].kind, Kind::kRefused);
  EXPECT_EQ(refused[0].id, 3u);
  EXPECT_EQ(exchange(b_, get(4, "z")), Frames{}) << "the bound is each client's own";
  EXPECT_EQ(exchange(b_, set(5, "x", "v")), Frames{done(5)});
  EXPECT_EQ(exchange(a_, get(6, "z")), Frames{value(1, "v")}) << "and there is room again";
}

StoreFrame get_of(std::uint32_t id, std::string key, std::string setter) {
  return {.kind = Kind::kGet, .id = id, .key = std::move(key), .value = std::move(setter)};
}
StoreFrame ended(std::uint32_t id, std::string how) {
  return {.kind = Kind::kEnded, .id = id, .value = std::move(how)};
}

TEST_F(StoreBookTest, AKeyGoesWithTheClientThatHasSetIt) {
  EXPECT_EQ(exchange(a_, set(1, "k", "12345")), Frames{done(1)});
  EXPECT_EQ(exchange(a_, set(2, "k", "1234")), Frames{done(2)}) << "its own";
  book_.forget(a_);
  EXPECT_EQ(book_.counts(), (StoreBook::Counts{.clients = 1}));
  EXPECT_EQ(exchange(b_, get(3, "k")), Frames{});
  EXPECT_EQ(exchange(b_, set(4, "k", "1234567890")), (Frames{done(4), value(3, "1234567890")}));
}

TEST_F(StoreBookTest, TwoClientsThatSetAKeyHearOfEachOther) {
  const auto taken = [](std::uint32_t id, std::string by) {
    return StoreFrame{.kind = Kind::kTaken, .id = id, .value = std::move(by)};
  };
  EXPECT_EQ(exchange(a_, get(1, "f/x")), Frames{});
  EXPECT_EQ(exchange(a_, set(2, "f/k", "a")), Frames{done(2)});
  EXPECT_EQ(exchange(b_, get(1, "f/x")), Frames{});
  EXPECT_EQ(exchange(b_, set(2, "f/k", "b")), (Frames{taken(2, "a"), taken(1, "a")}));
  EXPECT_EQ(answers(a_), Frames{taken(1, "b")});
  EXPECT_EQ(book_.counts().waiting_gets, 0u) << "nobody waits for what cannot come";
  book_.forget(a_);
  EXPECT_EQ(exchange(b_, set(3, "f/k", "b")), Frames{done(3)});
}

// A stray process of a rank comes when the rank has met the others long ago.
TEST_F(StoreBookTest, ARivalLeavesWhatHasToDoWithOtherKeysAlone) {
  EXPECT_EQ(exchange(a_, set(1, "f/k", "a")), Frames{done(1)});
  EXPECT_EQ(exchange(a_, get(2, "g/x")), Frames{});
  receive(b_, set(1, "f/k", "b"));
  EXPECT_EQ(answers(a_), Frames{});
  EXPECT_EQ(exchange(b_, set(2, "g/x", "v")),
            (Frames{{.kind = Kind::kTaken, .id = 1, .value = "a"}, done(2)}));
  EXPECT_EQ(answers(a_), Frames{value(2, "v")});
}

TEST_F(StoreBookTest, NobodyWaitsForARankThatHasEnded) {
  receive(a_, get_of(1, "x", "3"));
  receive(b_, get_of(2, "y", "3"));
  receive(b_, get_of(3, "z", "4"));
  book_.rank_ended(3, "exit code 0");
  EXPECT_EQ(answers(a_), Frames{ended(1, "exit code 0")});
  EXPECT_EQ(answers(b_), Frames{ended(2, "exit code 0")}) << "rank 4 may still come";
  EXPECT_EQ(book_.counts(), (StoreBook::Counts{.clients = 2, .waiting_gets = 1}));
  EXPECT_EQ(exchange(a_, get_of(4, "x", "3")), Frames{ended(4, "exit code 0")}) << "nor later";
  EXPECT_EQ(exchange(a_, set(5, "z", "v")), Frames{done(5)});
  EXPECT_EQ(answers(b_), Frames{value(3, "v")});
}

TEST_F(StoreBookTest, WhatARankSetBeforeItEndedStays) {
  EXPECT_EQ(exchange(a_, set(1, "x", "v")), Frames{done(1)});
  book_.rank_ended(3, "exit code 0");
  EXPECT_EQ(exchange(b_, get_of(2, "x", "3")), Frames{value(2, "v")});
}

TEST_F(StoreBookTest, RequestsThatNameNoRankWaitOn) {
  receive(a_, get(1, "x"));
  receive(b_, get_of(2, "x", "three"));
  book_.rank_ended(3, "exit code 0");
  EXPECT_EQ(answers(a_), Frames{});
  EXPECT_EQ(answers(b_), Frames{});
  EXPECT_EQ(book_.counts().waiting_gets, 2u);
}

TEST_F(StoreBookTest, WhoReadsNothingIsBroken) {
  ASSERT_EQ(exchange(b_, set(1, "k", "0123456789")), Frames{done(1)});
  std::uint32_t id = 0;
  while (!book_.broken(a_) && id < 100) receive(a_, get(++id, "k"));
  EXPECT_TRUE(book_.broken(a_));
  EXPECT_LT(id, 10u);
  EXPECT_LE(book_.unsent(a_).size(), kSmall.unsent_bytes + 100);
}

TEST_F(StoreBookTest, WhoReadsNothingIsBrokenAlsoByWhatItWaitedFor) {
  StoreBook::Limits limits = kSmall;
  limits.waiting_gets = 50;
  StoreBook book(nullptr, limits);
  const ClientId client = book.admit();
  Bytes bytes;
  for (std::uint32_t id = 0; id < 50; ++id) append_frame(get(id, "k"), bytes);
  append_frame(set(50, "k", "v"), bytes);
  book.receive(client, bytes);
  EXPECT_TRUE(book.broken(client));
  EXPECT_EQ(book.counts().waiting_gets, 0u);
  EXPECT_LE(book.unsent(client).size(), limits.unsent_bytes + 100);
}

TEST(StoreBook, LiveKeysAreAnsweredAndNeverStored) {
  int asked = 0;
  StoreBook book(
      [&](std::string_view key) -> std::optional<std::string> {
        ++asked;
        if (key == "live/none") return std::nullopt;
        return std::string(kMaxValueBytes + 1, 'l');
      },
      {});
  const ClientId client = book.admit();
  Bytes bytes;
  append_frame(get(1, "live/none"), bytes);
  append_frame(set(2, "live/none", "forged"), bytes);
  append_frame(get(3, "live/long"), bytes);
  book.receive(client, bytes);
  ByteView answers = book.unsent(client);
  EXPECT_EQ(take_frame(answers).value(), value(1, ""));
  EXPECT_EQ(take_frame(answers).value()->kind, Kind::kRefused);
  EXPECT_EQ(take_frame(answers).value(), value(3, std::string(kMaxValueBytes, 'l')));
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(book.counts(), StoreBook::Counts{.clients = 1});
}

}  // namespace
}  // namespace paceline
