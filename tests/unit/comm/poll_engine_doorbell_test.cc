// An engine that sleeps at a doorbell: who rings it, who kicks it, and what it looks at meanwhile.

#include <atomic>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "comm/base/unique_fd.h"
#include "comm/doorbell.h"
#include "comm/poll_engine.h"
#include "tests/unit/comm/patience.h"

namespace paceline::testing {
namespace {

// Each wake-up that is missed costs a whole nap: so many of them cannot be slept through in time.
constexpr int kRounds = 400;
constexpr Duration kAllNaps = kRounds * PollEngine::kLongestNap;

// What a ringer writes to where the engine sleeps in epoll.
class Kick final : public FdHandler {
 public:
  int fd() const { return fd_.get(); }
  bool on_ready(std::uint32_t) override {
    std::uint64_t kicks = 0;
    return ::read(fd_.get(), &kicks, sizeof kicks) > 0;
  }

 private:
  const UniqueFd fd_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

class DoorbellTest : public ::testing::TestWithParam<Doorbell::Bed> {
 protected:
  DoorbellTest() {
    sleep_at(&bell_);
    const Engine::Baton baton = engine_->hold();
    EXPECT_TRUE(engine_->watch(kick_.fd(), kick_, PollEngine::Interest::kToRead).ok());
  }
  ~DoorbellTest() override {
    sleep_at(nullptr);
    const Engine::Baton baton = engine_->hold();
    engine_->forget(kick_.fd(), kick_);
  }

  void sleep_at(Doorbell* bell) {
    const Engine::Baton baton = engine_->hold();
    engine_->sleep_at(bell, GetParam());
  }
  TimePoint now() { return engine_->clock().now(); }

  // Sleeps at once, so that there is always somebody to be woken.
  const std::shared_ptr<PollEngine> engine_ =
      PollEngine::create({.spin_rounds = 0, .yield_rounds = 0}).value();
  Doorbell bell_;
  Kick kick_;
};

// Sees what is written, as a transport does in its last look before the engine sleeps.
class WordWatcher final : public Driver {
 public:
  WordWatcher(PollEngine& engine, const std::atomic<int>& word) : engine_(engine), word_(word) {
    const Engine::Baton baton = engine_.hold();
    engine_.attach(*this);
  }
  ~WordWatcher() override {
    const Engine::Baton baton = engine_.hold();
    engine_.detach(*this);
  }
  bool drive(TimePoint) override {
    const int now = word_.load();
    return std::exchange(seen_, now) != now;
  }

 private:
  PollEngine& engine_;
  const std::atomic<int>& word_;
  int seen_ = 0;
};

// What another process does: it writes, and rings.
TEST_P(DoorbellTest, WhoeverRingsWakesIt) {
  std::atomic<int> asked{0}, answered{0};
  const WordWatcher watcher(*engine_, answered);
  std::thread other([&] {
    for (int round = 1; round <= kRounds; ++round) {
      if (!comes_true([&] { return asked.load() == round; })) return;
      answered.store(round);
      Ringer(bell_, kick_.fd()).ring();
    }
  });
  const TimePoint begin = now();
  for (int round = 1; round <= kRounds; ++round) {
    asked.store(round);
    EXPECT_TRUE(engine_->wait([&] { return answered.load() == round; }, patient()));
  }
  EXPECT_LT(now() - begin, kAllNaps / 2);
  other.join();
}

TEST_P(DoorbellTest, WhoeverWantsTheBatonGetsItFromTheSleeper) {
  bool done = false;  // guarded by the baton
  std::thread sleeper([&] { EXPECT_TRUE(engine_->wait([&] { return done; }, patient())); });
  const TimePoint begin = now();
  for (int round = 0; round < kRounds; ++round) {
    const Engine::Baton baton = engine_->hold();
    done = round == kRounds - 1;
  }
  EXPECT_LT(now() - begin, kAllNaps / 2);
  sleeper.join();
}

TEST_P(DoorbellTest, DeadlinesAreKept) {
  for (const int time_ms : {1, 120}) {
    const Deadline deadline = Deadline::after(engine_->clock(), std::chrono::milliseconds(time_ms));
    EXPECT_FALSE(engine_->wait([] { return false; }, deadline));
    EXPECT_GE(now(), deadline.moment());
  }
}

TEST_P(DoorbellTest, ABellThatIsForgottenIsNotSleptAt) {
  sleep_at(nullptr);
  std::thread kicker([this] { const Engine::Baton baton = engine_->hold(); });
  EXPECT_FALSE(engine_->wait([] { return false; }, brief()));
  kicker.join();
}

struct Pipe final : FdHandler {
  bool on_ready(std::uint32_t) override {
    std::byte byte;
    return ::read(read_end.get(), &byte, sizeof byte) == 1 && ++heard > 0;
  }
  UniqueFd read_end, write_end;
  int heard = 0;
};

// Between naps, or at once.
TEST_P(DoorbellTest, DescriptorsAreHeardOf) {
  constexpr int kWords = 20;
  Pipe pipe;
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  pipe.read_end = UniqueFd(ends[0]);
  pipe.write_end = UniqueFd(ends[1]);
  {
    const Engine::Baton baton = engine_->hold();
    ASSERT_TRUE(engine_->watch(pipe.read_end.get(), pipe).ok());
  }
  const TimePoint begin = now();
  for (int word = 1; word <= kWords; ++word) {
    std::thread writer([&pipe] { (void)!::write(pipe.write_end.get(), "x", 1); });
    EXPECT_TRUE(engine_->wait([&] { return pipe.heard == word; }, patient()));
    writer.join();
  }
  if (GetParam() == Doorbell::Bed::kEpoll) {
    EXPECT_LT(now() - begin, kWords * PollEngine::kLongestNap / 2);
  }
  const Engine::Baton baton = engine_->hold();
  engine_->forget(pipe.read_end.get(), pipe);
}

INSTANTIATE_TEST_SUITE_P(Beds, DoorbellTest,
                         ::testing::Values(Doorbell::Bed::kBell, Doorbell::Bed::kEpoll),
                         [](const auto& bed) {
                           return bed.param == Doorbell::Bed::kBell ? "bell" : "epoll";
                         });

}  // namespace
}  // namespace paceline::testing
