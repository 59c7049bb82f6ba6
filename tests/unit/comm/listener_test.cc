#include "comm/listener.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/unit/comm/open_listener.h"

namespace paceline::testing {
namespace {

using std::chrono::milliseconds;
using Book = UnauthenticatedBook;

constexpr std::size_t kMax = OpenListener::kMaxUnauthenticated;

TEST(Listener, APeerThatProvesTheKeyIsAccepted) {
  OpenListener listener;
  RawConnection peer(listener.address());
  listener.settle();
  ASSERT_TRUE(peer.send(hello_for(peer, listener.key(), 3)));
  ASSERT_TRUE(listener.serve_until([&] { return listener.peers().size() == 1; }));
  EXPECT_EQ(listener.peers()[0], 3);
  EXPECT_EQ(peer.receive(kWelcomeBytes).size(), kWelcomeBytes);
  EXPECT_EQ(listener.unauthenticated(), 0u);
  EXPECT_EQ(listener.refused(), 0u);
  EXPECT_TRUE(listener.log().lines().empty());
}

TEST(Listener, WithoutConnectionsItSleeps) {
  OpenListener listener;
  listener.settle();
  EXPECT_GT(listener.rest(), std::chrono::hours(24));
}

TEST(Listener, NoiseIsRefusedAndLoggedOncePerAddressAndReason) {
  OpenListener listener;
  for (int i = 1; i <= 3; ++i) {
    RawConnection connection(listener.address());
    ASSERT_TRUE(connection.send(Bytes(1000, std::byte{0x5A})));
    ASSERT_TRUE(
        listener.serve_until([&] { return listener.refused() == static_cast<unsigned>(i); }));
    EXPECT_TRUE(connection.ends());
  }
  ASSERT_EQ(listener.log().lines().size(), 1u);
  const CollectingLog::Line line = listener.log().lines()[0];
  EXPECT_EQ(line.severity, Severity::kWarning);
  for (const std::string part : {"rank 1", "127.0.0.1", "does not have this job's key"}) {
    EXPECT_NE(line.text.find(part), std::string::npos) << line.text;
  }
}

TEST(Listener, TheHelloOfAnotherConnectionOrJobIsRefused) {
  OpenListener listener;
  RawConnection recorded(listener.address());
  listener.settle();
  const Bytes hello = hello_for(recorded, listener.key(), 2);
  ASSERT_TRUE(recorded.send(hello));
  ASSERT_TRUE(listener.serve_until([&] { return listener.peers().size() == 1; }));
  RawConnection replayed(listener.address());
  ASSERT_TRUE(replayed.send(hello));
  ASSERT_TRUE(listener.serve_until([&] { return listener.refused() == 1; }));
  RawConnection foreign(listener.address());
  listener.settle();
  ASSERT_TRUE(foreign.send(hello_for(foreign, JobKey::generate().value(), 2)));
  ASSERT_TRUE(listener.serve_until([&] { return listener.refused() == 2; }));
  EXPECT_EQ(listener.peers().size(), 1u);
}

TEST(Listener, APeerWhomItsUserRefusesIsLogged) {
  OpenListener listener;
  listener.refuse_peers(Status(Code::kDenied, Scope::kPeer, "it greets another group"));
  RawConnection peer(listener.address());
  listener.settle();
  ASSERT_TRUE(peer.send(hello_for(peer, listener.key(), 3)));
  ASSERT_TRUE(listener.serve_until([&] { return listener.refused() == 1; }));
  EXPECT_EQ(listener.log().count("it greets another group"), 1u);
  EXPECT_TRUE(peer.ends());
}

TEST(Listener, ACutHelloIsRefusedAndASilentDepartureIsNot) {
  OpenListener listener;
  {
    RawConnection peer(listener.address());
    listener.settle();
    EXPECT_EQ(listener.unauthenticated(), 1u);
  }
  ASSERT_TRUE(listener.serve_until([&] { return listener.unauthenticated() == 0; }));
  EXPECT_EQ(listener.refused(), 0u);
  {
    RawConnection connection(listener.address());
    ASSERT_TRUE(connection.send(Bytes(40, std::byte{1})));
    listener.settle();
  }
  ASSERT_TRUE(listener.serve_until([&] { return listener.refused() == 1; }));
  EXPECT_EQ(listener.unauthenticated(), 0u);
}

TEST(Listener, SilenceEndsInTime) {
  OpenListener listener;
  RawConnection connection(listener.address());
  listener.settle();
  EXPECT_EQ(listener.rest(), Book::kMaxTime);
  listener.pass(Book::kMaxTime - milliseconds(1));
  listener.settle();
  EXPECT_EQ(listener.unauthenticated(), 1u);
  listener.pass(milliseconds(1));
  listener.settle();
  EXPECT_EQ(listener.unauthenticated(), 0u);
  EXPECT_EQ(listener.log().count("did not authenticate in time"), 1u);
  EXPECT_TRUE(connection.ends());
}

// The job computes, or is stopped, for longer than a greeting may take: the peer's proof lies there
// since long ago, although the engine has not come to say so.
TEST(Listener, APeerWhoseProofHasComeIsAcceptedHoweverLateItIsDriven) {
  OpenListener listener;
  RawConnection peer(listener.address());
  listener.settle();
  ASSERT_TRUE(peer.send(hello_for(peer, listener.key(), 3)));
  listener.pass(Book::kMaxTime + std::chrono::seconds(1));
  EXPECT_TRUE(listener.drive({}));
  ASSERT_EQ(listener.peers().size(), 1u);
  EXPECT_EQ(peer.receive(kWelcomeBytes).size(), kWelcomeBytes);
  EXPECT_EQ(listener.refused(), 0u);
}

TEST(Listener, APeerWhoseProofHasComeDoesNotGiveWayHoweverLateItIsDriven) {
  OpenListener listener;
  RawConnection peer(listener.address());
  listener.settle();
  const auto connections = silent_connections(listener, static_cast<int>(kMax));
  listener.settle();
  EXPECT_EQ(listener.unauthenticated(), kMax);
  ASSERT_TRUE(peer.send(hello_for(peer, listener.key(), 3)));
  listener.pass(Book::kMinTime);
  EXPECT_TRUE(listener.drive({}));
  ASSERT_EQ(listener.peers().size(), 1u);
  EXPECT_EQ(listener.unauthenticated(), kMax) << "the last one has come in instead";
  EXPECT_EQ(listener.refused(), 0u);
}

TEST(Listener, NobodyGivesWayWhereNobodyWaits) {
  OpenListener listener;
  const auto connections = silent_connections(listener, static_cast<int>(kMax));
  listener.settle();
  listener.pass(Book::kMinTime);
  listener.settle();
  EXPECT_EQ(listener.unauthenticated(), kMax);
  EXPECT_EQ(listener.refused(), 0u);
  EXPECT_EQ(listener.rest(), Book::kMaxTime - Book::kMinTime);
  RawConnection another(listener.address());
  listener.settle();
  EXPECT_EQ(listener.unauthenticated(), kMax);
  EXPECT_EQ(listener.refused(), 1u);
  EXPECT_EQ(another.receive(kChallengeBytes).size(), kChallengeBytes);
}

TEST(Listener, TheOldestGivesWayOnceItHasHadItsTime) {
  OpenListener listener;
  const auto connections = silent_connections(listener, 2 * static_cast<int>(kMax));
  listener.settle();
  EXPECT_EQ(listener.unauthenticated(), kMax);
  EXPECT_EQ(listener.refused(), 0u);
  EXPECT_EQ(listener.rest(), Book::kMinTime) << "it must not spin while the queue is not empty";
  listener.pass(Book::kMinTime);
  listener.settle();
  EXPECT_EQ(listener.unauthenticated(), kMax);
  EXPECT_EQ(listener.refused(), kMax);
  EXPECT_EQ(listener.log().lines().size(), 1u);
  EXPECT_EQ(listener.log().count("newer connections needed its place"), 1u);
  EXPECT_TRUE(connections[0]->ends());
}

// Among 1,000 silent connections, and with as many more behind it, a peer gets in at the first try.
TEST(Listener, AFloodDoesNotKeepAPeerOut) {
  OpenListener listener;
  const auto before = silent_connections(listener, 500);
  RawConnection peer(listener.address());
  const auto behind = silent_connections(listener, 500);
  std::optional<Bytes> hello;
  int rounds = 0;
  for (; listener.peers().empty() && rounds < 100; ++rounds) {
    listener.settle();
    std::byte first{};
    if (!hello && ::recv(peer.fd(), &first, 1, MSG_PEEK | MSG_DONTWAIT) == 1) {
      hello = hello_for(peer, listener.key(), 7);
      ASSERT_TRUE(peer.send(*hello));
      continue;  // it answers within kLeastTime
    }
    listener.pass(Book::kMinTime);
  }
  ASSERT_EQ(listener.peers().size(), 1u);
  EXPECT_EQ(listener.peers()[0], 7);
  EXPECT_LE(rounds, 500 / static_cast<int>(kMax) + 3);
  EXPECT_LE(listener.unauthenticated(), kMax);
}

// As many noisy ones as there are places: the next has to wait, which bounds what they cost.
TEST(Listener, ARefusedOnesPlaceStaysTakenForAWhile) {
  OpenListener listener;
  for (std::size_t i = 1; i <= kMax; ++i) {
    RawConnection noisy(listener.address());
    ASSERT_TRUE(noisy.send(Bytes(96)));
    ASSERT_TRUE(listener.serve_until([&] { return listener.refused() == i; }));
    EXPECT_TRUE(noisy.ends());
  }
  EXPECT_EQ(listener.unauthenticated(), 0u);
  RawConnection peer(listener.address());
  listener.settle();
  EXPECT_EQ(listener.unauthenticated(), 0u);
  EXPECT_EQ(listener.rest(), Book::kMinTime);
  listener.pass(Book::kMinTime);
  listener.settle();
  EXPECT_EQ(listener.unauthenticated(), 1u);
  EXPECT_EQ(listener.refused(), kMax) << "nobody gives way where a place is free";
}

TEST(Listener, AnyNumberOfPeersComeInWithoutDelay) {
  OpenListener listener;
  for (std::size_t i = 1; i <= 2 * kMax; ++i) {
    RawConnection peer(listener.address());
    ASSERT_TRUE(listener.serve_until([&] { return listener.unauthenticated() == 1; }));
    ASSERT_TRUE(peer.send(hello_for(peer, listener.key(), 1)));
    ASSERT_TRUE(listener.serve_until([&] { return listener.peers().size() == i; }));
  }
  EXPECT_EQ(listener.refused(), 0u);
}

// A connection is looked at when the engine has reported the listener, not before.
TEST(Listener, SilentConnectionsAreNotLookedAt) {
  OpenListener listener;
  const auto connections = silent_connections(listener, static_cast<int>(kMax));
  listener.settle();
  for (const auto& connection : connections) ASSERT_TRUE(connection->send(Bytes(96)));
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(listener.drive({}));
  EXPECT_EQ(listener.refused(), 0u);
  ASSERT_TRUE(listener.serve_until([&] { return listener.refused() == kMax; }));
}

// While it lives, this process can open no more descriptors.
class NoDescriptors {
 public:
  NoDescriptors() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const UniqueFd next(::dup(0));
    const rlimit none{.rlim_cur = static_cast<rlim_t>(next.get()), .rlim_max = before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoDescriptors() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

TEST(Listener, WithoutDescriptorsItRestsAndTriesAgain) {
  OpenListener listener;
  RawConnection first(listener.address());
  RawConnection second(listener.address());
  std::optional<NoDescriptors> none(std::in_place);
  for (int i = 0; i < 3; ++i) {
    listener.settle();
    EXPECT_EQ(listener.unauthenticated(), 0u);
    EXPECT_EQ(listener.rest(), Book::kPause);
    listener.pass(Book::kPause);
  }
  none.reset();
  listener.settle();
  EXPECT_EQ(listener.unauthenticated(), 2u);
  EXPECT_EQ(listener.log().lines().size(), 1u);
  EXPECT_EQ(listener.log().count("cannot accept connections"), 1u);
}

TEST(Listener, WithoutDescriptorsForLongItTellsPeers) {
  OpenListener listener;
  RawConnection first(listener.address());
  RawConnection second(listener.address());
  std::optional<NoDescriptors> none(std::in_place);
  listener.settle();
  listener.pass(Book::kMaxShortage);
  listener.settle();
  EXPECT_EQ(listener.rest(), Book::kPause) << "nobody waits any more";
  for (RawConnection* peer : {&first, &second}) {
    const Bytes notice = peer->receive(kChallengeBytes);
    const Status status = DialerHandshake(listener.key(), {}, {}).answer(notice).status();
    EXPECT_EQ(status.code(), Code::kExhausted) << status.to_string();
    EXPECT_TRUE(peer->ends());
  }
  none.reset();
  RawConnection third(listener.address());
  listener.pass(Book::kPause);
  listener.settle();
  EXPECT_EQ(listener.unauthenticated(), 1u);
}

TEST(Listener, WithoutDescriptorsTheOldestGivesWay) {
  OpenListener listener;
  RawConnection silent(listener.address());
  listener.settle();
  listener.pass(Book::kMinTime);
  RawConnection peer(listener.address());
  const NoDescriptors none;
  listener.settle();
  EXPECT_TRUE(silent.ends());
  ASSERT_TRUE(peer.send(hello_for(peer, listener.key(), 3)));
  EXPECT_TRUE(listener.serve_until([&] { return listener.peers().size() == 1; }));
}

}  // namespace
}  // namespace paceline::testing
