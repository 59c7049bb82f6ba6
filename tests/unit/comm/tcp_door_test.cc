#include "comm/transport/tcp_door.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/harness/collecting_log.h"
#include "tests/unit/comm/patience.h"
#include "tests/unit/comm/raw_connection.h"

namespace paceline::testing {
namespace {

using std::chrono::milliseconds;

// A door whose time is the test's: it stands still unless the test lets it pass.
class OpenDoor final : public Driver {
 public:
  OpenDoor() {
    UniqueFd listener = listen_on(SocketAddress::parse("127.0.0.1:0").value()).value();
    address_ = SocketAddress::of_local_end(listener.get()).value();
    const Engine::Baton baton = engine_->hold();
    door_ = std::make_unique<TcpDoor>(*engine_, std::move(listener), key_,
                                      TcpDoor::Options{.log = log_, .name = "rank 1"});
    EXPECT_TRUE(door_->watched().ok());
    engine_->attach(*this);
  }
  ~OpenDoor() override {
    const Engine::Baton baton = engine_->hold();
    engine_->detach(*this);
    door_.reset();
  }

  bool drive(TimePoint) override {
    return door_->drive(now_, [this](TcpArrival& arrival) {
      if (!verdict_.ok()) return verdict_;
      guests_.push_back(arrival.hello().from);
      return arrival.welcome().status();
    });
  }

  const SocketAddress& address() const { return address_; }
  const JobKey& key() const { return key_; }
  const CollectingLog& log() const { return *log_; }
  const std::vector<std::int32_t>& guests() const { return guests_; }
  std::size_t strangers() const { return door_->strangers(); }
  std::uint64_t refused() const { return door_->refused(); }
  /// How long the door sleeps at most when nothing comes in.
  Duration rest() const { return door_->wake_at() - now_; }

  void pass(Duration time) { now_ += time; }
  void refuse_guests(Status why) { verdict_ = std::move(why); }
  bool serve_until(FunctionRef<bool()> condition, Deadline deadline = patient()) {
    return engine_->wait(condition, deadline);
  }
  /// All that can happen before time passes: until nothing has for a while, twice, since this
  /// process may have been kept from its CPU for the whole of one.
  void settle() {
    const auto seen = [this] { return std::tuple(strangers(), refused(), guests_.size()); };
    for (int quiet = 0; quiet < 2;) {
      const auto before = seen();
      (void)serve_until([] { return false; }, brief());
      quiet = seen() == before ? quiet + 1 : 0;
    }
  }

 private:
  const std::shared_ptr<PollEngine> engine_ =
      PollEngine::create({.spin_rounds = 0, .yield_rounds = 0}).value();
  const JobKey key_ = JobKey::generate().value();
  const std::shared_ptr<CollectingLog> log_ = std::make_shared<CollectingLog>();
  SocketAddress address_;
  std::unique_ptr<TcpDoor> door_;
  TimePoint now_ = TimePoint() + std::chrono::hours(1);
  std::vector<std::int32_t> guests_;
  Status verdict_;
};

DialerHandshake::Nonce fresh_nonce() {
  DialerHandshake::Nonce nonce;
  EXPECT_TRUE(fill_system_random(nonce).ok());
  return nonce;
}

// The hello that answers the challenge which has come.
Bytes hello_for(RawConnection& connection, const JobKey& key, std::int32_t from) {
  DialerHandshake dialer(key, {.from = from}, fresh_nonce());
  return dialer.answer(connection.receive(kChallengeBytes)).value();
}

std::vector<std::unique_ptr<RawConnection>> silent_strangers(const OpenDoor& door, int count) {
  std::vector<std::unique_ptr<RawConnection>> strangers;
  for (int i = 0; i < count; ++i) {
    strangers.push_back(std::make_unique<RawConnection>(door.address()));
    EXPECT_TRUE(strangers.back()->connected());
  }
  return strangers;
}

TEST(TcpDoor, WhoProvesTheKeyIsTheTransports) {
  OpenDoor door;
  RawConnection peer(door.address());
  door.settle();
  ASSERT_TRUE(peer.send(hello_for(peer, door.key(), 3)));
  ASSERT_TRUE(door.serve_until([&] { return door.guests().size() == 1; }));
  EXPECT_EQ(door.guests()[0], 3);
  EXPECT_EQ(peer.receive(kWelcomeBytes).size(), kWelcomeBytes);
  EXPECT_EQ(door.strangers(), 0u);
  EXPECT_EQ(door.refused(), 0u);
  EXPECT_TRUE(door.log().lines().empty());
}

TEST(TcpDoor, WithoutStrangersItSleeps) {
  OpenDoor door;
  door.settle();
  EXPECT_GT(door.rest(), std::chrono::hours(24));
}

TEST(TcpDoor, NoiseIsRefusedAndLoggedOncePerAddressAndReason) {
  OpenDoor door;
  for (int i = 1; i <= 3; ++i) {
    RawConnection stranger(door.address());
    ASSERT_TRUE(stranger.send(Bytes(1000, std::byte{0x5A})));
    ASSERT_TRUE(door.serve_until([&] { return door.refused() == static_cast<unsigned>(i); }));
    EXPECT_TRUE(stranger.ends());
  }
  ASSERT_EQ(door.log().lines().size(), 1u);
  const CollectingLog::Line line = door.log().lines()[0];
  EXPECT_EQ(line.severity, Severity::kWarning);
  for (const std::string part : {"rank 1", "127.0.0.1", "does not have this job's key"}) {
    EXPECT_NE(line.text.find(part), std::string::npos) << line.text;
  }
}

TEST(TcpDoor, TheHelloOfAnotherConnectionOrJobIsRefused) {
  OpenDoor door;
  RawConnection recorded(door.address());
  door.settle();
  const Bytes hello = hello_for(recorded, door.key(), 2);
  ASSERT_TRUE(recorded.send(hello));
  ASSERT_TRUE(door.serve_until([&] { return door.guests().size() == 1; }));
  RawConnection replayed(door.address());
  ASSERT_TRUE(replayed.send(hello));
  ASSERT_TRUE(door.serve_until([&] { return door.refused() == 1; }));
  RawConnection foreign(door.address());
  door.settle();
  ASSERT_TRUE(foreign.send(hello_for(foreign, JobKey::generate().value(), 2)));
  ASSERT_TRUE(door.serve_until([&] { return door.refused() == 2; }));
  EXPECT_EQ(door.guests().size(), 1u);
}

TEST(TcpDoor, AGuestWhomTheTransportRefusesIsLogged) {
  OpenDoor door;
  door.refuse_guests(Status(Code::kDenied, Scope::kPeer, "it greets another group"));
  RawConnection peer(door.address());
  door.settle();
  ASSERT_TRUE(peer.send(hello_for(peer, door.key(), 3)));
  ASSERT_TRUE(door.serve_until([&] { return door.refused() == 1; }));
  EXPECT_EQ(door.log().count("it greets another group"), 1u);
  EXPECT_TRUE(peer.ends());
}

TEST(TcpDoor, ACutHelloIsRefusedAndASilentDepartureIsNot) {
  OpenDoor door;
  {
    RawConnection peer(door.address());
    door.settle();
    EXPECT_EQ(door.strangers(), 1u);
  }
  ASSERT_TRUE(door.serve_until([&] { return door.strangers() == 0; }));
  EXPECT_EQ(door.refused(), 0u);
  {
    RawConnection stranger(door.address());
    ASSERT_TRUE(stranger.send(Bytes(40, std::byte{1})));
    door.settle();
  }
  ASSERT_TRUE(door.serve_until([&] { return door.refused() == 1; }));
  EXPECT_EQ(door.strangers(), 0u);
}

TEST(TcpDoor, SilenceEndsInTime) {
  OpenDoor door;
  RawConnection stranger(door.address());
  door.settle();
  EXPECT_EQ(door.rest(), TcpDoor::kGreetingTime);
  door.pass(TcpDoor::kGreetingTime - milliseconds(1));
  door.settle();
  EXPECT_EQ(door.strangers(), 1u);
  door.pass(milliseconds(1));
  door.settle();
  EXPECT_EQ(door.strangers(), 0u);
  EXPECT_EQ(door.log().count("did not prove the job's key in time"), 1u);
  EXPECT_TRUE(stranger.ends());
}

// The job computes, or is stopped, for longer than a greeting may take: the peer's proof lies there
// since long ago, although the engine has not come to say so.
TEST(TcpDoor, WhoseProofHasComeIsLetInHoweverLateTheDoorLooks) {
  OpenDoor door;
  RawConnection peer(door.address());
  door.settle();
  ASSERT_TRUE(peer.send(hello_for(peer, door.key(), 3)));
  door.pass(TcpDoor::kGreetingTime + std::chrono::seconds(1));
  EXPECT_TRUE(door.drive({}));
  ASSERT_EQ(door.guests().size(), 1u);
  EXPECT_EQ(peer.receive(kWelcomeBytes).size(), kWelcomeBytes);
  EXPECT_EQ(door.refused(), 0u);
}

TEST(TcpDoor, WhoseProofHasComeDoesNotGiveWayHoweverLateTheDoorLooks) {
  OpenDoor door;
  RawConnection peer(door.address());
  door.settle();
  const auto strangers = silent_strangers(door, static_cast<int>(TcpDoor::kMaxStrangers));
  door.settle();
  EXPECT_EQ(door.strangers(), TcpDoor::kMaxStrangers);
  ASSERT_TRUE(peer.send(hello_for(peer, door.key(), 3)));
  door.pass(TcpDoor::kLeastTime);
  EXPECT_TRUE(door.drive({}));
  ASSERT_EQ(door.guests().size(), 1u);
  EXPECT_EQ(door.strangers(), TcpDoor::kMaxStrangers) << "the last one has come in instead";
  EXPECT_EQ(door.refused(), 0u);
}

TEST(TcpDoor, NobodyGivesWayWhereNobodyWaits) {
  OpenDoor door;
  const auto strangers = silent_strangers(door, static_cast<int>(TcpDoor::kMaxStrangers));
  door.settle();
  door.pass(TcpDoor::kLeastTime);
  door.settle();
  EXPECT_EQ(door.strangers(), TcpDoor::kMaxStrangers);
  EXPECT_EQ(door.refused(), 0u);
  EXPECT_EQ(door.rest(), TcpDoor::kGreetingTime - TcpDoor::kLeastTime);
  RawConnection another(door.address());
  door.settle();
  EXPECT_EQ(door.strangers(), TcpDoor::kMaxStrangers);
  EXPECT_EQ(door.refused(), 1u);
  EXPECT_EQ(another.receive(kChallengeBytes).size(), kChallengeBytes);
}

TEST(TcpDoor, TheOldestGivesWayOnceItHasHadItsTime) {
  OpenDoor door;
  const auto strangers = silent_strangers(door, 2 * static_cast<int>(TcpDoor::kMaxStrangers));
  door.settle();
  EXPECT_EQ(door.strangers(), TcpDoor::kMaxStrangers);
  EXPECT_EQ(door.refused(), 0u);
  EXPECT_EQ(door.rest(), TcpDoor::kLeastTime) << "it must not spin while the queue is not empty";
  door.pass(TcpDoor::kLeastTime);
  door.settle();
  EXPECT_EQ(door.strangers(), TcpDoor::kMaxStrangers);
  EXPECT_EQ(door.refused(), TcpDoor::kMaxStrangers);
  EXPECT_EQ(door.log().lines().size(), 1u);
  EXPECT_EQ(door.log().count("newer connections needed its place"), 1u);
  EXPECT_TRUE(strangers[0]->ends());
}

// Behind 1,000 silent strangers, and with as many more behind it, a peer gets in at the first try.
TEST(TcpDoor, AFloodDoesNotKeepAPeerOut) {
  OpenDoor door;
  const auto before = silent_strangers(door, 500);
  RawConnection peer(door.address());
  const auto behind = silent_strangers(door, 500);
  std::optional<Bytes> hello;
  int rounds = 0;
  for (; door.guests().empty() && rounds < 100; ++rounds) {
    door.settle();
    std::byte first{};
    if (!hello && ::recv(peer.fd(), &first, 1, MSG_PEEK | MSG_DONTWAIT) == 1) {
      hello = hello_for(peer, door.key(), 7);
      ASSERT_TRUE(peer.send(*hello));
      continue;  // it answers within kLeastTime
    }
    door.pass(TcpDoor::kLeastTime);
  }
  ASSERT_EQ(door.guests().size(), 1u);
  EXPECT_EQ(door.guests()[0], 7);
  EXPECT_LE(rounds, 500 / static_cast<int>(TcpDoor::kMaxStrangers) + 3);
  EXPECT_LE(door.strangers(), TcpDoor::kMaxStrangers);
}

// As many noisy ones as there are places: the next has to wait, which bounds what they cost.
TEST(TcpDoor, ARefusedOnesPlaceStaysTakenForAWhile) {
  OpenDoor door;
  for (std::size_t i = 1; i <= TcpDoor::kMaxStrangers; ++i) {
    RawConnection noisy(door.address());
    ASSERT_TRUE(noisy.send(Bytes(96)));
    ASSERT_TRUE(door.serve_until([&] { return door.refused() == i; }));
    EXPECT_TRUE(noisy.ends());
  }
  EXPECT_EQ(door.strangers(), 0u);
  RawConnection peer(door.address());
  door.settle();
  EXPECT_EQ(door.strangers(), 0u);
  EXPECT_EQ(door.rest(), TcpDoor::kLeastTime);
  door.pass(TcpDoor::kLeastTime);
  door.settle();
  EXPECT_EQ(door.strangers(), 1u);
  EXPECT_EQ(door.refused(), TcpDoor::kMaxStrangers) << "nobody gives way where a place is free";
}

TEST(TcpDoor, AnyNumberOfPeersComeInWithoutDelay) {
  OpenDoor door;
  for (std::size_t i = 1; i <= 2 * TcpDoor::kMaxStrangers; ++i) {
    RawConnection peer(door.address());
    ASSERT_TRUE(door.serve_until([&] { return door.strangers() == 1; }));
    ASSERT_TRUE(peer.send(hello_for(peer, door.key(), 1)));
    ASSERT_TRUE(door.serve_until([&] { return door.guests().size() == i; }));
  }
  EXPECT_EQ(door.refused(), 0u);
}

// A caller is looked at when the engine has reported it, not before.
TEST(TcpDoor, SilentStrangersAreNotLookedAt) {
  OpenDoor door;
  const auto strangers = silent_strangers(door, static_cast<int>(TcpDoor::kMaxStrangers));
  door.settle();
  for (const auto& stranger : strangers) ASSERT_TRUE(stranger->send(Bytes(96)));
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(door.drive({}));
  EXPECT_EQ(door.refused(), 0u);
  ASSERT_TRUE(door.serve_until([&] { return door.refused() == TcpDoor::kMaxStrangers; }));
}

TEST(TcpDoor, WithoutDescriptorsItRestsAndTriesAgain) {
  OpenDoor door;
  RawConnection first(door.address());
  RawConnection second(door.address());
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const UniqueFd next(::dup(0));
  const rlimit none{.rlim_cur = static_cast<rlim_t>(next.get()), .rlim_max = limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  for (int i = 0; i < 3; ++i) {
    door.settle();
    EXPECT_EQ(door.strangers(), 0u);
    EXPECT_EQ(door.rest(), TcpDoor::kPause);
    door.pass(TcpDoor::kPause);
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  door.settle();
  EXPECT_EQ(door.strangers(), 2u);
  EXPECT_EQ(door.log().lines().size(), 1u);
  EXPECT_EQ(door.log().count("cannot accept connections"), 1u);
}

}  // namespace
}  // namespace paceline::testing
