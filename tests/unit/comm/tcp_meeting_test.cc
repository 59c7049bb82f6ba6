// How the TCP transports of two ranks meet, or do not, and how they part.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/base/digest.h"
#include "comm/transport/tcp.h"
#include "tests/harness/collecting_log.h"
#include "tests/unit/comm/patience.h"
#include "tests/unit/comm/raw_connection.h"

namespace paceline::testing {
namespace {

struct Ended final : RequestListener {
  void ended(Request& request) override { status = request.status; }
  std::optional<Status> status;
};

// Two ranks on one engine; rank 1 exists only once the test lets it.
class TwoRanks {
 public:
  TwoRanks() {
    for (const TcpListener* listener : {&*listeners_[0], &*listeners_[1]}) {
      group_.members.push_back({.host = "local", .address = listener->address()});
    }
  }
  ~TwoRanks() {
    for (auto& transport : transports_) {
      if (transport == nullptr) continue;
      const Engine::Baton baton = engine_->hold();
      engine_->detach(*transport);
    }
  }

  void begin(int rank, bool integrity = false) {
    const auto i = static_cast<std::size_t>(rank);
    group_.rank = rank;
    auto port = TcpPort::open(engine_, *std::move(listeners_[i]), copy_of_key(),
                              {.name = "rank " + std::to_string(rank),
                               .log = log,
                               .integrity = integrity,
                               .world = group_})
                    .value();
    transports_[i] = make_tcp_transport(std::move(port), group_, {}).value();
    const Engine::Baton baton = engine_->hold();
    engine_->attach(*transports_[i]);
  }
  /// Nobody listens at rank 1's address any more.
  void abandon_door() { listeners_[1].reset(); }
  /// Where rank 0 would listen.
  UniqueFd take_door() { return listeners_[0]->release(); }
  /// A hold on rank 1's listening socket beside its own.
  UniqueFd door() const {
    for (int fd = 0; fd < 1024; ++fd) {
      const Result<SocketAddress> bound = SocketAddress::of_local_end(fd);
      if (bound.ok() && bound->to_string() == listeners_[1]->address()) return UniqueFd(::dup(fd));
    }
    return {};
  }

  Transport& operator[](int rank) { return *transports_[static_cast<std::size_t>(rank)]; }
  PollEngine& engine() { return *engine_; }
  const Group& group() const { return group_; }
  JobKey copy_of_key() const {
    return JobKey::from_descriptor(key_.to_memfd().value().get()).value();
  }

  const std::shared_ptr<CollectingLog> log = std::make_shared<CollectingLog>();

 private:
  const std::shared_ptr<PollEngine> engine_ =
      PollEngine::create({.spin_rounds = 0, .yield_rounds = 0}).value();
  const JobKey key_ = JobKey::generate().value();
  std::optional<TcpListener> listeners_[2] = {TcpListener::open("127.0.0.1").value(),
                                              TcpListener::open("127.0.0.1").value()};
  Group group_{.name = "test"};
  std::unique_ptr<Transport> transports_[2];
};

TEST(TcpMeeting, WhereNobodyListensThePeerIsLostAtOnce) {
  TwoRanks ranks;
  ranks.abandon_door();
  ranks.begin(0);
  Ended sent;
  Request request{.listener = &sent};
  {
    const Engine::Baton baton = ranks.engine().hold();
    ranks[0].send(1, {}, {}, request);
  }
  ASSERT_TRUE(ranks.engine().wait([&] { return sent.status.has_value(); }, patient()));
  EXPECT_EQ(sent.status->code(), Code::kPeerLost);
  EXPECT_EQ(sent.status->culprit().rank, 1);
  EXPECT_NE(sent.status->text().find("refused"), std::string::npos) << sent.status->text();
}

TEST(TcpMeeting, RanksOfWhichOneSealsItsDataSaySoAtOnce) {
  for (const bool first : {true, false}) {
    TwoRanks ranks;
    ranks.begin(0, first);
    ranks.begin(1, !first);
    Ended sent;
    Request request{.listener = &sent};
    {
      const Engine::Baton baton = ranks.engine().hold();
      ranks[0].send(1, {}, {}, request);
    }
    ASSERT_TRUE(ranks.engine().wait([&] { return sent.status.has_value(); }, patient()));
    EXPECT_EQ(sent.status->culprit().rank, 1);
    EXPECT_NE(sent.status->text().find("PACELINE_INTEGRITY is on at one of the two ranks only"),
              std::string::npos)
        << sent.status->text();
  }
}

// More often than a few tries would do.
TEST(TcpMeeting, APeerThatHangsUpInTheGreetingIsDialedAgain) {
  constexpr int kHangUps = 8;
  TwoRanks ranks;
  const UniqueFd door = ranks.door();
  ranks.begin(0);
  Ended sent, received;
  Request send{.listener = &sent}, receive{.listener = &received};
  std::byte byte{7}, came{};
  {
    const Engine::Baton baton = ranks.engine().hold();
    ranks[0].send(1, {}, std::span(&byte, 1), send);
  }
  int hang_ups = 0;
  const auto hang_up = [&] {
    const Result<UniqueFd> caller = accept_from(door.get());
    return caller.ok() && *caller && ++hang_ups == kHangUps;
  };
  for (bool enough = false; !enough;) {
    (void)ranks.engine().wait([&] { return enough = hang_up(); }, brief());
    ASSERT_FALSE(sent.status.has_value()) << sent.status->to_string();
  }
  ranks.begin(1);
  {
    const Engine::Baton baton = ranks.engine().hold();
    ranks[1].receive(0, std::span(&came, 1), receive);
  }
  ASSERT_TRUE(ranks.engine().wait([&] { return received.status.has_value(); }, patient()));
  EXPECT_TRUE(received.status->ok()) << received.status->to_string();
  EXPECT_EQ(came, byte);
  EXPECT_TRUE(ranks.log->lines().empty());
}

// A holder of the key that dials rank 1 by hand.
class Caller {
 public:
  Caller(TwoRanks& ranks, const Hello& hello)
      : peer(SocketAddress::parse(ranks.group().members[1].address).value()),
        key(ranks.copy_of_key()),
        dialer(key, hello, {}) {
    (void)ranks.engine().wait(kNever, brief());
    EXPECT_TRUE(peer.send(dialer.answer(peer.receive(kChallengeBytes)).value()));
    (void)ranks.engine().wait(kNever, brief());
  }

  RawConnection peer;
  const JobKey key;
  DialerHandshake dialer;  // borrows the key
};

// Whoever holds the key may still be in the wrong place.
TEST(TcpMeeting, AProvenHelloForAnotherRankIsRefusedAndLogged) {
  TwoRanks ranks;
  ranks.begin(1);
  const std::uint64_t group = digest("test");
  for (const Hello& hello :
       {Hello{.from = 0, .to = 0, .group = group}, Hello{.from = 1, .to = 1, .group = group},
        Hello{.from = 2, .to = 1, .group = group}, Hello{.from = -1, .to = 1, .group = group},
        Hello{.purpose = Purpose::kStore, .from = 0, .to = 1, .group = group}}) {
    Caller caller(ranks, hello);
    EXPECT_TRUE(caller.peer.ends());
  }
  EXPECT_EQ(ranks.log->lines().size(), 1u);
  EXPECT_EQ(ranks.log->count("its hello names another rank"), 1u);
}

// As where a communicator has been destroyed before a peer has had anything to send.
TEST(TcpMeeting, WhoComesForAGroupThatIsNotHereHearsSo) {
  TwoRanks ranks;
  ranks.begin(1);
  for (const Hello& hello : {Hello{.epoch = 7, .from = 0, .to = 1, .group = digest("test")},
                             Hello{.from = 0, .to = 1, .group = digest("tests")}}) {
    Caller caller(ranks, hello);
    EXPECT_EQ(caller.dialer.read_welcome(caller.peer.receive(kWelcomeBytes)).value(),
              Verdict::kHasLeft);
    EXPECT_TRUE(caller.peer.ends());
  }
  EXPECT_TRUE(ranks.log->lines().empty());
}

// Two ranks on one engine, each with a port, and two groups of them.
class TwoGroups {
 public:
  TwoGroups() {
    const JobKey key = JobKey::generate().value();
    std::vector<TcpListener> listeners;
    for (int rank = 0; rank < 2; ++rank) {
      listeners.push_back(TcpListener::open("127.0.0.1").value());
      group_.members.push_back({.host = "local", .address = listeners.back().address()});
    }
    for (TcpListener& listener : listeners) {
      group_.rank = static_cast<int>(ports_.size());
      ports_.push_back(TcpPort::open(engine, std::move(listener),
                                     JobKey::from_descriptor(key.to_memfd().value().get()).value(),
                                     {.world = group_})
                           .value());
    }
    for (const char* const name : {"first", "second"}) {
      group_.name = name;
      for (group_.rank = 0; group_.rank < 2; ++group_.rank) {
        auto made = make_tcp_transport(ports_[static_cast<std::size_t>(group_.rank)], group_, {});
        transports.push_back(std::move(made).value());
        const Engine::Baton baton = engine->hold();
        engine->attach(*transports.back());
      }
    }
  }
  ~TwoGroups() {
    const Engine::Baton baton = engine->hold();
    for (const auto& transport : transports)
      if (transport != nullptr) engine->detach(*transport);
  }
  /// Of the first group, once more.
  Status make_again() {
    group_.name = "first";
    group_.rank = 0;
    return make_tcp_transport(ports_[0], group_, {}).status();
  }
  void leave(std::size_t index) {
    {
      const Engine::Baton baton = engine->hold();
      engine->detach(*transports[index]);
    }
    transports[index].reset();
  }
  bool wait_for(const Ended& end) {
    return engine->wait([&] { return end.status.has_value(); }, patient());
  }

  const std::shared_ptr<PollEngine> engine =
      PollEngine::create({.spin_rounds = 0, .yield_rounds = 0}).value();
  std::vector<std::unique_ptr<Transport>> transports;  // by group, then rank

 private:
  Group group_;
  std::vector<std::shared_ptr<TcpPort>> ports_;  // by rank
};

TEST(TcpPort, GroupsDoNotReceiveEachOthersMessages) {
  TwoGroups groups;
  std::byte sent[2] = {std::byte{1}, std::byte{2}}, came[2] = {};
  Ended ends[4];
  Request requests[4];
  for (int i = 0; i < 4; ++i) requests[i].listener = &ends[i];
  {
    const Engine::Baton baton = groups.engine->hold();
    for (std::size_t i = 0; i < 2; ++i) {
      groups.transports[2 * i]->send(1, {}, std::span(&sent[i], 1), requests[i]);
      groups.transports[2 * i + 1]->receive(0, std::span(&came[i], 1), requests[2 + i]);
    }
  }
  for (const Ended& end : ends) ASSERT_TRUE(groups.wait_for(end));
  EXPECT_EQ(came[0], sent[0]);
  EXPECT_EQ(came[1], sent[1]);
  EXPECT_EQ(groups.make_again().code(), Code::kInvalidArgument);
}

// Before it has sent anything: there is no connection whose end would tell.
TEST(TcpPort, ARankThatHasLeftAGroupIsLostThereAlone) {
  TwoGroups groups;
  groups.leave(3);
  std::byte byte{};
  Ended ended;
  Request awaited{.listener = &ended};
  {
    const Engine::Baton baton = groups.engine->hold();
    groups.transports[2]->receive(1, std::span(&byte, 1), awaited);
  }
  ASSERT_TRUE(groups.wait_for(ended));
  EXPECT_EQ(ended.status->code(), Code::kPeerLost);
  EXPECT_TRUE(groups.transports[0]->loss(1).ok()) << "the other group goes on";
}

// Rank 0 by hand: rank 1 waits for two bytes from it, and both connections are there.
class ByHand {
 public:
  ByHand() {
    ranks_.begin(1);
    to_.emplace(SocketAddress::parse(ranks_.group().members[1].address).value());
    pump();
    DialerHandshake dialer(key_, {.from = 0, .to = 1, .group = digest("test")}, {});
    greeted_ = to_->send(dialer.answer(to_->receive(kChallengeBytes)).value());
    pump();
    greeted_ &= dialer.read_welcome(to_->receive(kWelcomeBytes)).ok();
    const Engine::Baton baton = ranks_.engine().hold();
    for (int i = 0; i < 2; ++i) ranks_[1].receive(0, std::span(&came[i], 1), requests_[i]);
  }
  /// Accepts rank 1's connection, and closes it.
  bool close_what_it_is_sent_through() {
    UniqueFd caller;
    const auto has_come = [&] {
      Result<UniqueFd> fd = accept_from(door_.get());
      if (fd.ok()) caller = *std::move(fd);
      return static_cast<bool>(caller);
    };
    if (!greeted_ || !ranks_.engine().wait(has_come, patient())) return false;
    const AcceptorHandshake::Nonce nonce{};
    AcceptorHandshake handshake(key_, nonce);
    if (!send(caller, handshake.challenge())) return false;
    Bytes hello(kHelloBytes);
    const auto comes = [&] {
      const ssize_t count = ::recv(caller.get(), hello.data(), hello.size(), MSG_PEEK);
      return std::cmp_equal(count, hello.size());
    };
    if (!ranks_.engine().wait(comes, patient()) || !handshake.read_hello(hello).ok()) return false;
    if (::recv(caller.get(), hello.data(), hello.size(), 0) < 0) return false;
    if (!send(caller, handshake.welcome(Verdict::kAccepted))) return false;
    const auto connects = [&] { return ranks_[1].connected(0); };
    if (!ranks_.engine().wait(connects, patient())) return false;
    // Where something is not read before its end, a connection is reset.
    FrameHeaderBytes join{};
    const auto joins = [&] {
      return std::cmp_equal(::recv(caller.get(), join.data(), join.size(), 0), join.size());
    };
    if (!ranks_.engine().wait(joins, patient())) return false;
    EXPECT_EQ(decode_frame(join).value().kind, FrameKind::kJoin);
    caller.reset();
    return ranks_.engine().wait([&] { return !connects(); }, patient());
  }
  bool send_byte(std::byte byte) {
    const HeaderBytes header = encode_header({.payload_bytes = 1});
    const FrameHeaderBytes frame =
        encode_frame({.group = group_id(ranks_.group()), .bytes = kHeaderBytes + 1});
    return to_->send(frame) && to_->send(header) && to_->send(std::span(&byte, 1));
  }
  void close() { to_.reset(); }
  /// How rank 1's receive ended; nothing if it does not.
  std::optional<Status> ended(int receive) {
    (void)ranks_.engine().wait([&] { return ends_[receive].status.has_value(); }, patient());
    return ends_[receive].status;
  }
  bool waits(int receive) {
    pump();
    return !ends_[receive].status.has_value();
  }
  void pump() {
    (void)ranks_.engine().wait([] { return false; }, brief());
  }

  std::byte came[2] = {};

 private:
  static bool send(const UniqueFd& fd, ByteView bytes) {
    return std::cmp_equal(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), bytes.size());
  }

  TwoRanks ranks_;
  const JobKey key_ = ranks_.copy_of_key();
  const UniqueFd door_ = ranks_.take_door();
  std::optional<RawConnection> to_;
  bool greeted_ = false;
  Ended ends_[2];
  Request requests_[2] = {{.listener = &ends_[0]}, {.listener = &ends_[1]}};
};

TEST(TcpParting, WhatAPeerSendsIsReadToItsEndWhenItCanBeSentNothingMore) {
  ByHand peer;
  ASSERT_TRUE(peer.close_what_it_is_sent_through());
  EXPECT_TRUE(peer.waits(0));
  ASSERT_TRUE(peer.send_byte(std::byte{7}));
  EXPECT_TRUE(peer.ended(0).value().ok());
  EXPECT_EQ(peer.came[0], std::byte{7});
  EXPECT_TRUE(peer.waits(1));
  peer.close();
  EXPECT_EQ(peer.ended(1).value().code(), Code::kPeerLost);
}

TEST(TcpParting, APeerThatCanBeSentNothingMoreAndSaysNothingIsLost) {
  ByHand peer;
  ASSERT_TRUE(peer.close_what_it_is_sent_through());
  const Status ended = peer.ended(0).value();
  EXPECT_EQ(ended.code(), Code::kPeerLost);
  EXPECT_EQ(ended.culprit().rank, 0);
  EXPECT_NE(ended.text().find("has closed its connection"), std::string::npos) << ended.text();
}

}  // namespace
}  // namespace paceline::testing
