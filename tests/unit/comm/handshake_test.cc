#include "comm/handshake.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

using Nonce = AcceptorHandshake::Nonce;

Nonce nonce(int seed) {
  Nonce bytes;
  bytes.fill(static_cast<std::byte>(seed));
  return bytes;
}

const Hello kHello{.purpose = Purpose::kData, .epoch = 4, .from = 1, .to = 2, .group = 77};

TEST(Handshake, BothSidesAgree) {
  const JobKey key = JobKey::generate().value();
  AcceptorHandshake acceptor(key, nonce(1));
  DialerHandshake dialer(key, kHello, nonce(2));
  ASSERT_EQ(acceptor.challenge().size(), kChallengeBytes);
  const Bytes hello = dialer.answer(acceptor.challenge()).value();
  ASSERT_EQ(hello.size(), kHelloBytes);
  EXPECT_EQ(acceptor.read_hello(hello).value(), kHello);
  for (const Verdict verdict : {Verdict::kAccepted, Verdict::kSuperseded}) {
    EXPECT_EQ(dialer.read_welcome(acceptor.welcome(verdict)).value(), verdict);
  }
}

TEST(Handshake, AnotherKeyIsDeniedByEitherSide) {
  const JobKey ours = JobKey::generate().value();
  const JobKey theirs = JobKey::generate().value();
  AcceptorHandshake acceptor(ours, nonce(1));
  DialerHandshake dialer(theirs, kHello, nonce(2));
  const Bytes hello = dialer.answer(acceptor.challenge()).value();
  EXPECT_EQ(acceptor.read_hello(hello).status().code(), Code::kDenied);
  EXPECT_EQ(dialer.read_welcome(acceptor.welcome(Verdict::kAccepted)).status().code(),
            Code::kDenied);
}

TEST(Handshake, EveryFlippedBitIsNoticed) {
  const JobKey key = JobKey::generate().value();
  for (std::size_t bit = 0; bit < 8 * kHelloBytes; ++bit) {
    AcceptorHandshake acceptor(key, nonce(1));
    DialerHandshake dialer(key, kHello, nonce(2));
    Bytes hello = dialer.answer(acceptor.challenge()).value();
    hello[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
    EXPECT_FALSE(acceptor.read_hello(hello).ok()) << bit;
  }
  for (std::size_t bit = 0; bit < 8 * kWelcomeBytes; ++bit) {
    AcceptorHandshake acceptor(key, nonce(1));
    DialerHandshake dialer(key, kHello, nonce(2));
    ASSERT_TRUE(acceptor.read_hello(dialer.answer(acceptor.challenge()).value()).ok());
    auto welcome = acceptor.welcome(Verdict::kAccepted);
    welcome[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
    EXPECT_FALSE(dialer.read_welcome(welcome).ok()) << bit;
  }
}

TEST(Handshake, ARecordedHelloIsWorthNothingOnAnotherConnection) {
  const JobKey key = JobKey::generate().value();
  AcceptorHandshake first(key, nonce(1));
  const Bytes recorded = DialerHandshake(key, kHello, nonce(2)).answer(first.challenge()).value();
  ASSERT_TRUE(first.read_hello(recorded).ok());
  AcceptorHandshake second(key, nonce(3));
  EXPECT_EQ(second.read_hello(recorded).status().code(), Code::kDenied);
}

TEST(Handshake, WhatIsNoChallengeIsRefused) {
  const JobKey key = JobKey::generate().value();
  DialerHandshake dialer(key, kHello, nonce(2));
  EXPECT_FALSE(dialer.answer(Bytes(kChallengeBytes)).ok());
  EXPECT_FALSE(dialer.answer({}).ok());
}

}  // namespace
}  // namespace paceline
