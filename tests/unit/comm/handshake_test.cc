#include "comm/handshake.h"

#include <cstring>

#include <gtest/gtest.h>

#include "comm/base/random.h"

namespace paceline {
namespace {

using Nonce = AcceptorHandshake::Nonce;

Nonce fresh() {
  Nonce nonce;
  EXPECT_TRUE(fill_system_random(nonce).ok());
  return nonce;
}

const Hello kHello{
    .purpose = Purpose::kData, .epoch = 3, .from = 5, .to = 2, .group = 0x0123456789ABCDEF};

Bytes flipped(ByteView bytes, std::size_t bit) {
  Bytes copy(bytes.begin(), bytes.end());
  copy[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
  return copy;
}

class HandshakeTest : public ::testing::Test {
 protected:
  const JobKey key_ = JobKey::generate().value();
  AcceptorHandshake acceptor_{key_, fresh()};
  DialerHandshake dialer_{key_, kHello, fresh()};
};

TEST_F(HandshakeTest, BothSidesAgree) {
  ASSERT_EQ(acceptor_.challenge().size(), kChallengeBytes);
  const Bytes hello = dialer_.answer(acceptor_.challenge()).value();
  ASSERT_EQ(hello.size(), kHelloBytes);
  EXPECT_EQ(acceptor_.read_hello(hello).value(), kHello);
  for (const Verdict verdict : {Verdict::kAccepted, Verdict::kNotMeant}) {
    EXPECT_EQ(dialer_.read_welcome(acceptor_.welcome(verdict)).value(), verdict);
  }
}

TEST_F(HandshakeTest, AHelloOfAnyValuesArrives) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Hello hello{.purpose = random.chance(0.5) ? Purpose::kData : Purpose::kStore,
                      .epoch = static_cast<std::uint32_t>(random.next()),
                      .from = static_cast<std::int32_t>(random.next()),
                      .to = static_cast<std::int32_t>(random.next()),
                      .group = random.next()};
    DialerHandshake dialer(key_, hello, fresh());
    const Bytes bytes = dialer.answer(acceptor_.challenge()).value();
    EXPECT_EQ(acceptor_.read_hello(bytes).value(), hello);
  }
}

TEST_F(HandshakeTest, ADialerWithAnotherKeyIsDenied) {
  const JobKey other = JobKey::generate().value();
  DialerHandshake stranger(other, kHello, fresh());
  const Bytes hello = stranger.answer(acceptor_.challenge()).value();
  const Status status = acceptor_.read_hello(hello).status();
  EXPECT_EQ(status.code(), Code::kDenied);
  EXPECT_NE(status.text().find("job's key"), std::string::npos) << status.text();
}

TEST_F(HandshakeTest, AnAcceptorWithAnotherKeyIsDenied) {
  const JobKey other = JobKey::generate().value();
  AcceptorHandshake stranger(other, fresh());
  const Bytes hello = dialer_.answer(stranger.challenge()).value();
  EXPECT_FALSE(stranger.read_hello(hello).ok());
  const Status status = dialer_.read_welcome(stranger.welcome(Verdict::kAccepted)).status();
  EXPECT_EQ(status.code(), Code::kDenied);
}

TEST_F(HandshakeTest, EveryFlippedBitOfTheHelloIsDenied) {
  const Bytes hello = dialer_.answer(acceptor_.challenge()).value();
  for (std::size_t bit = 0; bit < 8 * hello.size(); ++bit) {
    EXPECT_EQ(acceptor_.read_hello(flipped(hello, bit)).status().code(), Code::kDenied) << bit;
  }
  EXPECT_TRUE(acceptor_.read_hello(hello).ok()) << "the hello itself is good";
}

// Either the dialer sees it, or its proof is about another challenge than the acceptor's.
TEST_F(HandshakeTest, EveryFlippedBitOfTheChallengeIsDenied) {
  for (std::size_t bit = 0; bit < 8 * kChallengeBytes; ++bit) {
    const Result<Bytes> hello = dialer_.answer(flipped(acceptor_.challenge(), bit));
    if (!hello.ok()) {
      EXPECT_EQ(hello.status().code(), Code::kDenied) << bit;
      continue;
    }
    EXPECT_FALSE(acceptor_.read_hello(*hello).ok()) << bit;
  }
}

TEST_F(HandshakeTest, EveryFlippedBitOfTheWelcomeIsDenied) {
  const Bytes hello = dialer_.answer(acceptor_.challenge()).value();
  ASSERT_TRUE(acceptor_.read_hello(hello).ok());
  const auto welcome = acceptor_.welcome(Verdict::kAccepted);
  for (std::size_t bit = 0; bit < 8 * kWelcomeBytes; ++bit) {
    EXPECT_EQ(dialer_.read_welcome(flipped(welcome, bit)).status().code(), Code::kDenied) << bit;
  }
}

TEST_F(HandshakeTest, ARecordedHelloIsWorthNothingElsewhere) {
  const Bytes recorded = dialer_.answer(acceptor_.challenge()).value();
  ASSERT_TRUE(acceptor_.read_hello(recorded).ok());
  AcceptorHandshake another(key_, fresh());
  EXPECT_EQ(another.read_hello(recorded).status().code(), Code::kDenied);
}

TEST_F(HandshakeTest, ARecordedWelcomeIsWorthNothingElsewhere) {
  const Bytes hello = dialer_.answer(acceptor_.challenge()).value();
  ASSERT_TRUE(acceptor_.read_hello(hello).ok());
  const auto recorded = acceptor_.welcome(Verdict::kAccepted);
  // The same challenge again, from somebody who has only listened.
  DialerHandshake another(key_, kHello, fresh());
  ASSERT_TRUE(another.answer(acceptor_.challenge()).ok());
  EXPECT_FALSE(another.read_welcome(recorded).ok());
}

// The acceptor's own proof sent back to it as a hello's.
TEST_F(HandshakeTest, AProofForAnotherPurposeIsDenied) {
  Bytes hello = dialer_.answer(acceptor_.challenge()).value();
  Bytes proven(acceptor_.challenge().begin(), acceptor_.challenge().end());
  proven.insert(proven.end(), hello.begin(), hello.end() - Mac().size());
  const Mac proof = key_.prove("paceline welcome", proven);
  std::memcpy(hello.data() + hello.size() - proof.size(), proof.data(), proof.size());
  EXPECT_FALSE(acceptor_.read_hello(hello).ok());
}

TEST_F(HandshakeTest, AnUnknownPurposeIsDeniedThoughTheKeyIsRight) {
  DialerHandshake odd(key_, {.purpose = static_cast<Purpose>(9)}, fresh());
  const Bytes hello = odd.answer(acceptor_.challenge()).value();
  EXPECT_EQ(acceptor_.read_hello(hello).status().code(), Code::kDenied);
}

TEST_F(HandshakeTest, RecordsOfAnotherLengthAreDenied) {
  Bytes hello = dialer_.answer(acceptor_.challenge()).value();
  EXPECT_FALSE(acceptor_.read_hello({}).ok());
  EXPECT_FALSE(acceptor_.read_hello(ByteView(hello).first(kHelloBytes - 1)).ok());
  hello.push_back(std::byte{});
  EXPECT_FALSE(acceptor_.read_hello(hello).ok());
  EXPECT_FALSE(dialer_.answer({}).ok());
  EXPECT_FALSE(dialer_.answer(acceptor_.challenge().first(kChallengeBytes - 1)).ok());
  EXPECT_FALSE(dialer_.answer(Bytes(kChallengeBytes + 1)).ok());
  EXPECT_FALSE(dialer_.read_welcome({}).ok());
  EXPECT_FALSE(dialer_.read_welcome(Bytes(kWelcomeBytes)).ok());
}

}  // namespace
}  // namespace paceline
