// Shared memory where a process dies, lies, sleeps or is late; what goes well is in the contract.

#include "comm/transport/shm.h"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/transport/byte_ring.h"
#include "comm/transport/stream_inbox.h"
#include "comm/wire.h"
#include "tests/unit/comm/patience.h"
#include "tests/unit/comm/shm_pair.h"

namespace paceline::testing {
namespace {

constexpr std::size_t kRingBytes = 4096;
constexpr int kPlaces = 3;  // of the room, whoever comes

// One rank of a group of `ranks` that share `segment`, with an engine that drives it.
class Rank final : private Driver, private RequestListener {
 public:
  Rank(std::shared_ptr<SharedSegment> segment, int rank, int ranks,
       const PollEngine::Options& stages = {.spin_rounds = 0, .yield_rounds = 10})
      : engine_(PollEngine::create(stages).value()) {
    Group group{.name = "test", .rank = rank};
    group.members.assign(static_cast<std::size_t>(ranks), {.host = "here"});
    segment->take_place(rank).value();
    auto room =
        HostRoom::enter(engine_, {.segment = segment}, {.places = kPlaces, .own = rank}).value();
    const SegmentPart rings{.segment = std::move(segment), .offset = HostRoom::bytes_for(kPlaces)};
    transport_ =
        make_shm_transport(std::move(room), group, {.part = rings, .ring_bytes = kRingBytes})
            .value();
    const Engine::Baton baton = engine_->hold();
    engine_->attach(*this);
  }
  ~Rank() override {
    const Engine::Baton baton = engine_->hold();
    engine_->detach(*this);
  }

  /// Ends when the message has ended, or times out.
  Status send(int to, const Bytes& payload) {
    Request request{.listener = this};
    return end([&] { transport_->send(to, {}, payload, request); }, request, patient());
  }
  Status receive(int from, Bytes& buffer, Deadline deadline = patient()) {
    Request request{.listener = this};
    return end([&] { transport_->receive(from, buffer, request); }, request, deadline);
  }
  TimePoint wake_at() const override { return transport_->wake_at(); }
  /// At the last timeout: when it wanted to be driven next.
  TimePoint wanted_at() const { return wanted_at_; }
  TimePoint now() const { return engine_->clock().now(); }
  const ShmTransport& transport() const { return *transport_; }

 private:
  template <class Begin>
  Status end(const Begin& begin, Request& request, Deadline deadline) {
    ended_ = false;
    {
      const Engine::Baton baton = engine_->hold();
      begin();
    }
    if (engine_->wait([this] { return ended_; }, deadline)) return request.status;
    wanted_at_ = wake_at();
    const Engine::Baton baton = engine_->hold();
    transport_->abort(Status(Code::kTimeout, Scope::kGroup, "it did not come"));
    return request.status;
  }
  bool drive(TimePoint now) override { return transport_->drive(now); }
  void ended(Request&) override { ended_ = true; }

  std::shared_ptr<PollEngine> engine_;
  std::unique_ptr<ShmTransport> transport_;
  bool ended_ = false;
  TimePoint wanted_at_ = TimePoint::max();
};

class ShmTest : public ::testing::Test {
 protected:
  const std::shared_ptr<SharedSegment> segment_ = std::make_shared<SharedSegment>(
      SharedSegment::create_nameless(HostRoom::bytes_for(kPlaces) +
                                     ShmTransport::bytes_for(kPlaces, kRingBytes))
          .value());

  /// Runs `body` as `rank` in a child, which ends without tidying up.
  template <class Body>
  pid_t start(int rank, int ranks, const Body& body) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    Rank here(segment_, rank, ranks);
    body(here);
    ::kill(::getpid(), SIGKILL);
    std::abort();
  }
  static void reap(pid_t child) {
    ASSERT_GT(child, 0);
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  }
};

TEST_F(ShmTest, WhatAKilledPeerSentIsReceivedAndThenItIsLost) {
  const pid_t child = start(1, 2, [](Rank& there) {
    (void)there.send(0, Bytes(1000, std::byte{1}));
    (void)there.send(0, Bytes(8, std::byte{2}));
  });
  reap(child);
  Rank here(segment_, 0, 2);
  Bytes first(1000), second(8), third(8);
  EXPECT_TRUE(here.receive(1, first).ok());
  EXPECT_EQ(first, Bytes(1000, std::byte{1}));
  EXPECT_TRUE(here.receive(1, second).ok());
  const Status lost = here.receive(1, third);
  EXPECT_EQ(lost.code(), Code::kPeerLost);
  EXPECT_EQ(lost.culprit().rank, 1);
  EXPECT_EQ(lost.text(), "the process of the rank has ended");
  EXPECT_EQ(here.send(1, third).code(), Code::kPeerLost);
  EXPECT_FALSE(here.transport().connected(1));
}

// The ring is full and nobody will read it.
TEST_F(ShmTest, ASendToAKilledPeerEnds) {
  Rank here(segment_, 0, 2);
  Bytes word(1);
  const pid_t child = start(1, 2, [](Rank& there) {
    (void)there.send(0, Bytes(1));
    Bytes nothing_comes(1);
    (void)there.receive(0, nothing_comes);
  });
  EXPECT_TRUE(here.receive(1, word).ok());
  ::kill(child, SIGKILL);
  const Status status = here.send(1, Bytes(10 * kRingBytes));
  EXPECT_EQ(status.code(), Code::kPeerLost);
  reap(child);
}

// A thread of the own process cannot be asked whether it lives.
TEST_F(ShmTest, AThreadThatIsSilentIsNotLost) {
  Rank here(segment_, 0, 2), thread(segment_, 1, 2);
  Bytes word(1);
  const Deadline deadline = Deadline::after(SystemClock(), 3 * ShmTransport::kLookEvery);
  EXPECT_EQ(here.receive(1, word, deadline).code(), Code::kTimeout);
}

// To ask whether a peer lives, a sleeper must be woken; if nothing is awaited it may sleep on.
TEST_F(ShmTest, ItWantsToBeDrivenWhileItAwaitsSomething) {
  Rank here(segment_, 0, 2);
  Bytes word(1);
  EXPECT_EQ(here.wake_at(), TimePoint::max());
  (void)here.receive(1, word, brief());
  EXPECT_LE(here.wanted_at(), here.now() + ShmTransport::kLookEvery);
  EXPECT_EQ(here.wake_at(), TimePoint::max());
}

TEST_F(ShmTest, WhoHasNotComeYetIsAwaited) {
  Rank here(segment_, 0, 2);
  const Deadline deadline = Deadline::after(SystemClock(), 3 * ShmTransport::kLookEvery);
  Bytes word(1);
  EXPECT_EQ(here.receive(1, word, deadline).code(), Code::kTimeout);
}

// What one peer has scribbled over is between it and us.
TEST_F(ShmTest, ADamagedRingLosesItsPeerAlone) {
  Rank first(segment_, 0, 3), second(segment_, 1, 3);
  const std::size_t ring = ByteRing::bytes_for(kRingBytes);
  // The fifth of six: from rank 2 to rank 0.
  const std::span<std::byte> from_third = segment_->memory().last(2 * ring).first(ring);
  std::fill(from_third.begin(), from_third.begin() + 8, std::byte{0xEE});
  Bytes word(1);
  const Status lost = first.receive(2, word);
  EXPECT_EQ(lost.code(), Code::kPeerLost);
  EXPECT_EQ(lost.culprit().rank, 2);
  EXPECT_NE(lost.text().find("damaged"), std::string::npos) << lost.text();
  EXPECT_TRUE(second.send(0, word).ok());
  EXPECT_TRUE(first.receive(1, word).ok());
}

// Both sides sleep whenever they wait, for a message or for room: a wake-up that is missed costs a
// whole nap, and so many of them cannot be slept through in time.
TEST_F(ShmTest, NoWakeUpIsMissed) {
  constexpr int kRounds = 300;
  const PollEngine::Options sleepy{.spin_rounds = 0, .yield_rounds = 0};
  const auto exchange = [&](int rank) {
    Rank here(segment_, rank, 2, sleepy);
    const Bytes ball(rank == 0 ? 8 : 3 * kRingBytes, std::byte{3});
    Bytes caught(rank == 0 ? 3 * kRingBytes : 8);
    for (int round = 0; round < kRounds; ++round) {
      if (rank == 0) {
        EXPECT_TRUE(here.send(1, ball).ok());
      }
      EXPECT_TRUE(here.receive(1 - rank, caught).ok());
      if (rank == 1) {
        EXPECT_TRUE(here.send(0, ball).ok());
      }
    }
  };
  EXPECT_LT(time_of_two(exchange, 1), kRounds * PollEngine::kLongestNap / 2);
}

TEST_F(ShmTest, ASegmentThatIsTooSmallIsRefused) {
  const auto room = HostRoom::enter(PollEngine::create({}).value(), {.segment = segment_},
                                    {.places = kPlaces, .own = 0})
                        .value();
  Group group{.members = std::vector<Member>(3)};
  const std::size_t begin = HostRoom::bytes_for(kPlaces);
  const auto refusal = [&](std::size_t offset, std::size_t ring_bytes) {
    const SegmentPart part{.segment = segment_, .offset = offset};
    return make_shm_transport(room, group, {.part = part, .ring_bytes = ring_bytes}).status();
  };
  const Status small = refusal(begin + 64, kRingBytes);
  EXPECT_EQ(small.code(), Code::kInvalidArgument);
  EXPECT_NE(small.text().find("3 ranks with rings of 4096 bytes need"), std::string::npos);
  EXPECT_EQ(refusal(begin + 8, 1024).code(), Code::kInvalidArgument);
  EXPECT_EQ(refusal(SIZE_MAX, kRingBytes).code(), Code::kInvalidArgument);
  for (const std::size_t bytes : {0u, 32u, 1000u})
    EXPECT_EQ(refusal(begin, bytes).code(), Code::kInvalidArgument);
}

class CountingListener final : public RequestListener {
 public:
  void ended(Request& request) override { count += request.status.ok() ? 1u : 0u; }
  std::size_t count = 0;
};

class CountingSink final : public TransportSink {
 public:
  void told(int, MessageKind, ByteView) override { ++count; }
  void waits(int, const Signature&) override {}
  std::size_t count = 0;
};

// The last few lie read ahead where there was no room for them, and nothing comes behind them. How
// many do depends on their length.
TEST_F(ShmTest, AFewMoreControlMessagesThanAreTakenAtOnceAllCome) {
  constexpr std::size_t kMany = StreamInbox::kMaxControls + 5;
  ShmPair pair(segment_, kRingBytes, {});
  for (std::size_t bytes = 0; bytes <= 10; ++bytes) {
    CountingSink sink;
    pair.reader().set_sink(&sink);
    for (std::size_t i = 0; i < kMany; ++i) {
      pair.writer().tell(1, MessageKind::kAnswer, Bytes(bytes));
    }
    pair.drive(10);
    EXPECT_EQ(sink.count, kMany) << bytes << " bytes each";
    pair.reader().set_sink(nullptr);
  }
}

TEST_F(ShmTest, AFewMoreMessagesThanABacklogHoldsAllCome) {
  constexpr std::size_t kBytes = 200, kRead = StreamInbox::kBacklogBytes / (kHeaderBytes + kBytes);
  for (std::size_t more = 1; more <= 5; ++more) {
    const auto segment = std::make_shared<SharedSegment>(
        SharedSegment::create_nameless(ShmPair::bytes_for(kRingBytes)).value());
    ShmPair pair(segment, kRingBytes, {});
    CountingListener listener;
    const Bytes payload(kBytes);
    Bytes buffer(kBytes);
    std::vector<Request> sends(kRead + more), receives(kRead + more);
    for (Request& request : sends) {
      request.listener = &listener;
      pair.writer().send(1, {}, payload, request);
      pair.drive(1);
    }
    pair.drive(10);
    ASSERT_EQ(listener.count, sends.size()) << "all are in the backlog, the ring, or read ahead";
    for (Request& request : receives) {
      request.listener = &listener;
      pair.reader().receive(0, buffer, request);
    }
    pair.drive(10);
    EXPECT_EQ(listener.count, sends.size() + receives.size()) << more << " more";
  }
}

}  // namespace
}  // namespace paceline::testing
