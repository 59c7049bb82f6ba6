// Descriptors that the engine watches.

#include <atomic>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/poll_engine.h"
#include "tests/unit/comm/patience.h"

namespace paceline::testing {
namespace {

// An eventfd under watch, and what was heard of it.
class Watched final : public FdHandler {
 public:
  using Interest = PollEngine::Interest;
  explicit Watched(PollEngine& engine, Interest interest = Interest::kToReadAndWrite)
      : engine_(engine), fd_(::eventfd(0, EFD_NONBLOCK)) {
    const Engine::Baton baton = engine_.hold();
    EXPECT_TRUE(engine_.watch(fd_.get(), *this, interest).ok());
  }
  ~Watched() {
    const Engine::Baton baton = engine_.hold();
    forget();
  }

  void make_readable() {
    const std::uint64_t one = 1;
    EXPECT_EQ(::write(fd_.get(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
  }
  void read() {
    std::uint64_t all = 0;
    EXPECT_EQ(::read(fd_.get(), &all, sizeof all), static_cast<ssize_t>(sizeof all));
  }
  /// With the baton held.
  void forget() { engine_.forget(fd_.get(), *this); }
  bool on_ready(std::uint32_t events) override {
    ++calls;
    if ((events & EPOLLIN) == 0) return true;
    ++readable;
    if (forgets != nullptr) forgets->forget();
    return true;
  }

  int calls = 0;     // guarded by the baton
  int readable = 0;  // the same
  Watched* forgets = nullptr;

 private:
  PollEngine& engine_;
  const UniqueFd fd_;
};

// Tells that the engine is about to sleep.
class NapWatcher final : public Driver {
 public:
  bool drive(TimePoint) override { return false; }
  TimePoint wake_at() const override {
    ++naps;
    return TimePoint::max();
  }
  mutable std::atomic<int> naps{0};
};

class PollEngineDescriptors : public ::testing::Test {
 protected:
  bool wait(FunctionRef<bool()> condition, Deadline deadline = patient()) {
    return engine_->wait(condition, deadline);
  }
  const std::shared_ptr<PollEngine> engine_ =
      PollEngine::create({.spin_rounds = 0, .yield_rounds = 0}).value();
};

TEST_F(PollEngineDescriptors, WhoServesLooksAtThemWithoutWaiting) {
  Watched watched(*engine_);
  watched.make_readable();
  const Engine::Baton baton = engine_->hold();
  engine_->serve();
  EXPECT_EQ(watched.readable, 1);
  engine_->serve();
  EXPECT_EQ(watched.readable, 1) << "nothing has come since";
}

// What has come has been read before anybody asked; there is room, as always.
TEST_F(PollEngineDescriptors, WhoOnlyReadsHearsNothingOfRoom) {
  Watched reader(*engine_, PollEngine::Interest::kToRead), writer(*engine_);
  for (Watched* watched : {&reader, &writer}) {
    watched->make_readable();
    watched->read();
  }
  const Engine::Baton baton = engine_->hold();
  engine_->serve();
  EXPECT_EQ(reader.calls, 0);
  EXPECT_EQ(writer.calls, 1);
  reader.make_readable();
  engine_->serve();
  EXPECT_EQ(reader.readable, 1);
}

TEST_F(PollEngineDescriptors, ReadinessWakesAWaitThatIsAsleep) {
  NapWatcher naps;
  Watched watched(*engine_);
  {
    const Engine::Baton baton = engine_->hold();
    engine_->attach(naps);
  }
  std::thread sleeper([&] { EXPECT_TRUE(wait([&] { return watched.readable > 0; })); });
  ASSERT_TRUE(comes_true([&] { return naps.naps > 0; })) << "it never went to sleep";
  watched.make_readable();
  sleeper.join();
  const Engine::Baton baton = engine_->hold();
  engine_->detach(naps);
}

TEST_F(PollEngineDescriptors, ReadinessIsHeardOfOncePerChange) {
  Watched watched(*engine_);
  for (int change = 1; change <= 3; ++change) {
    watched.make_readable();
    ASSERT_TRUE(wait([&] { return watched.readable == change; }));
    EXPECT_FALSE(wait([&] { return watched.readable > change; }, brief()));
  }
}

TEST_F(PollEngineDescriptors, AReadyDescriptorIsHeardOfAlsoWhileTheEngineIsBusy) {
  class Busy final : public Driver {
   public:
    bool drive(TimePoint) override { return ++drives % 4 != 0; }  // rests a little
    int drives = 0;
  } busy;
  Watched watched(*engine_);
  {
    const Engine::Baton baton = engine_->hold();
    engine_->attach(busy);
  }
  watched.make_readable();
  EXPECT_TRUE(wait([&] { return watched.readable > 0; }));
  const Engine::Baton baton = engine_->hold();
  engine_->detach(busy);
}

// Both are ready in one poll; whichever is told first forgets the other, which may be gone by then.
TEST_F(PollEngineDescriptors, WhoIsForgottenHearsNothingAnyMore) {
  for (int round = 0; round < 20; ++round) {
    Watched first(*engine_), second(*engine_);
    ASSERT_TRUE(wait([&] { return first.calls > 0 && second.calls > 0; })) << "both are writable";
    first.forgets = &second;
    second.forgets = &first;
    {
      const Engine::Baton baton = engine_->hold();
      first.make_readable();
      second.make_readable();
    }
    EXPECT_TRUE(wait([&] { return first.readable + second.readable > 0; }));
    (void)wait([] { return false; }, Deadline::after(engine_->clock(), Duration(1'000'000)));
    EXPECT_EQ(first.readable + second.readable, 1);
  }
}

TEST_F(PollEngineDescriptors, WhatCannotBeWatchedIsAnError) {
  class Unheard final : public FdHandler {
   public:
    bool on_ready(std::uint32_t) override { return false; }
  } handler;
  const Engine::Baton baton = engine_->hold();
  const Status status = engine_->watch(-1, handler);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.text().find("engine: epoll_ctl"), std::string::npos) << status.text();
}

// Else the peer would not see the end of a process as long as a child of it lives.
TEST_F(PollEngineDescriptors, AForkedChildDoesNotKeepThemOpen) {
  class Ignoring final : public FdHandler {
    bool on_ready(std::uint32_t) override { return false; }
  } handler;
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  UniqueFd own(ends[0]);
  const UniqueFd peer(ends[1]);
  const auto with_baton = [&](const auto& act) {
    const Engine::Baton baton = engine_->hold();
    return act();
  };
  ASSERT_TRUE(with_baton([&] { return engine_->watch(own.get(), handler); }).ok());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // The number is in use, so that nothing else gets it.
    if (::fcntl(own.get(), F_GETFD) < 0) ::_exit(1);
    while (true) ::pause();
  }
  with_baton([&] { engine_->forget(own.get(), handler); });
  own.reset();
  pollfd ended{.fd = peer.get(), .events = POLLIN};
  constexpr int kPatienceMs = 10'000;
  EXPECT_EQ(::poll(&ended, 1, kPatienceMs), 1) << "the child has it open";
  EXPECT_EQ(::waitpid(child, nullptr, WNOHANG), 0) << "the child has ended";
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace paceline::testing
