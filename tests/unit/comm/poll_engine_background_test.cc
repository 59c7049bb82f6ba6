// Operations in the background: driven while nobody waits, and left to whoever waits.

#include <atomic>
#include <thread>

#include <gtest/gtest.h>
#include <sched.h>

#include "comm/poll_engine.h"
#include "tests/unit/comm/patience.h"

namespace paceline::testing {
namespace {

// An operation that needs so many drives, and who drove it last.
class Operation final : public Driver {
 public:
  Operation(PollEngine& engine, int drives) : engine_(engine), drives_left_(drives) {
    const Engine::Baton baton = engine_.hold();
    engine_.attach(*this);
    engine_.begin_background();
  }
  ~Operation() override {
    const Engine::Baton baton = engine_.hold();
    engine_.detach(*this);
    if (drives_left_ > 0) engine_.end_background();
  }
  bool drive(TimePoint) override {
    if (drives_left_ == 0) return false;
    if (--drives_left_ > 0) return true;
    driven_by_ = std::this_thread::get_id();
    engine_.end_background();
    ended_.store(true, std::memory_order_release);
    return true;
  }

  int drives_left() const { return drives_left_.load(std::memory_order_relaxed); }
  bool ended() const { return ended_.load(std::memory_order_acquire); }
  std::thread::id driven_by() const { return driven_by_; }

 private:
  PollEngine& engine_;
  std::atomic<int> drives_left_;
  std::atomic<bool> ended_{false};
  std::thread::id driven_by_;  // written before ended_
};

class PollEngineBackground : public ::testing::Test {
 protected:
  const std::shared_ptr<PollEngine> engine_ = PollEngine::create({}).value();
};

TEST_F(PollEngineBackground, WorkIsDrivenWhileNobodyWaits) {
  for (int round = 0; round < 20; ++round) {
    const Operation operation(*engine_, 100);
    ASSERT_TRUE(comes_true([&] { return operation.ended(); })) << round;
    EXPECT_NE(operation.driven_by(), std::this_thread::get_id());
  }
}

TEST_F(PollEngineBackground, SeveralOperationsEndOneAfterTheOther) {
  const Operation first(*engine_, 10), second(*engine_, 1000), third(*engine_, 1);
  for (const Operation* operation : {&first, &second, &third}) {
    EXPECT_TRUE(comes_true([&] { return operation->ended(); }));
  }
}

TEST_F(PollEngineBackground, WhoWaitsIsNotKeptByIt) {
  for (int round = 0; round < 50; ++round) {
    const Operation operation(*engine_, 1000);
    EXPECT_TRUE(engine_->wait([&] { return operation.ended(); }, patient()));
  }
}

TEST_F(PollEngineBackground, ABusyBackgroundLetsTheForegroundIn) {
  const Operation operation(*engine_, 1'000'000'000);
  for (int round = 0; round < 100; ++round) {
    const int before = operation.drives_left();
    EXPECT_TRUE(engine_->wait([&] { return operation.drives_left() < before; }, patient()));
  }
}

TEST_F(PollEngineBackground, WorkGoesOnAfterAWaitThatDidNotNeedIt) {
  const Operation operation(*engine_, 1'000'000);
  for (int wait = 0; wait < 10; ++wait) {
    EXPECT_TRUE(engine_->wait([] { return true; }, patient()));
  }
  EXPECT_TRUE(comes_true([&] { return operation.ended(); }));
}

TEST_F(PollEngineBackground, TheBatonIsHadWhileTheBackgroundSleeps) {
  const Operation idle(*engine_, 1);
  ASSERT_TRUE(comes_true([&] { return idle.ended(); }));
  // Wanted, with nothing to do: it sleeps with the baton.
  {
    const Engine::Baton baton = engine_->hold();
    engine_->begin_background();
  }
  const TimePoint begin = engine_->clock().now();
  for (int round = 0; round < 100; ++round) const Engine::Baton baton = engine_->hold();
  EXPECT_LT(engine_->clock().now() - begin, std::chrono::seconds(5));
  const Engine::Baton baton = engine_->hold();
  engine_->end_background();
}

TEST_F(PollEngineBackground, TheEngineEndsAtOnceAlsoWhenItsThreadSleeps) {
  const SystemClock clock;
  for (const bool still_wanted : {false, true}) {
    auto engine = PollEngine::create({.spin_rounds = 0, .yield_rounds = 0}).value();
    {
      const Engine::Baton baton = engine->hold();
      engine->begin_background();
    }
    { const Operation operation(*engine, 100); }
    if (!still_wanted) {
      const Engine::Baton baton = engine->hold();
      engine->end_background();
    }
    const TimePoint begin = clock.now();
    engine.reset();
    EXPECT_LT(clock.now() - begin, std::chrono::seconds(5)) << still_wanted;
  }
}

// While its thread looks whether it is wanted. Its two looks, at the signal and at what the signal
// announces, had the wrong order: about one end in 50,000 left it asleep for good.
TEST_F(PollEngineBackground, TheEngineEndsAtAnyTimeOfItsThread) {
  for (int i = 0; i < 20000; ++i) {
    auto engine = PollEngine::create({.spin_rounds = 0, .yield_rounds = 0}).value();
    const Engine::Baton baton = engine->hold();
    for (int turn = 0; turn < 1 + i % 8; ++turn) {
      engine->begin_background();
      engine->end_background();
      for (int pauses = 0; pauses < i % 64; ++pauses) __builtin_ia32_pause();
    }
  }
}

}  // namespace
}  // namespace paceline::testing
