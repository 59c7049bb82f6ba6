// An engine that sleeps at a doorbell: who rings it, who kicks it, and what it looks at meanwhile.

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "comm/doorbell.h"
#include "comm/poll_engine.h"
#include "tests/unit/comm/patience.h"

namespace paceline::testing {
namespace {

// Each wake-up that is missed costs a whole nap: so many of them cannot be slept through in time.
constexpr int kRounds = 400;
constexpr Duration kAllNaps = kRounds * PollEngine::kLongestNap;

class DoorbellTest : public ::testing::Test {
 protected:
  DoorbellTest() { sleep_at(&bell_); }
  ~DoorbellTest() override { sleep_at(nullptr); }

  void sleep_at(Doorbell* bell) {
    const Engine::Baton baton = engine_->hold();
    engine_->sleep_at(bell);
  }
  TimePoint now() { return engine_->clock().now(); }

  // Sleeps at once, so that there is always somebody to be woken.
  const std::shared_ptr<PollEngine> engine_ =
      PollEngine::create({.spin_rounds = 0, .yield_rounds = 0}).value();
  Doorbell bell_;
};

// What another process does: it writes, and rings.
TEST_F(DoorbellTest, WhoeverRingsWakesIt) {
  std::atomic<int> asked{0}, answered{0};
  std::thread other([&] {
    for (int round = 1; round <= kRounds; ++round) {
      if (!comes_true([&] { return asked.load() == round; })) return;
      answered.store(round);
      bell_.ring();
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

TEST_F(DoorbellTest, WhoeverWantsTheBatonGetsItFromTheSleeper) {
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

TEST_F(DoorbellTest, DeadlinesAreKept) {
  for (const int time_ms : {1, 120}) {
    const Deadline deadline = Deadline::after(engine_->clock(), std::chrono::milliseconds(time_ms));
    EXPECT_FALSE(engine_->wait([] { return false; }, deadline));
    EXPECT_GE(now(), deadline.moment());
  }
}

TEST_F(DoorbellTest, ABellThatIsForgottenIsNotSleptAt) {
  sleep_at(nullptr);
  std::thread kicker([this] { const Engine::Baton baton = engine_->hold(); });
  EXPECT_FALSE(engine_->wait([] { return false; }, brief()));
  kicker.join();
}

}  // namespace
}  // namespace paceline::testing
