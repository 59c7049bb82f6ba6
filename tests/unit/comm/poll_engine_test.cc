#include "comm/poll_engine.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace paceline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::shared_ptr<PollEngine> make_engine() { return PollEngine::create({}).value(); }

Deadline in(const PollEngine& engine, Duration time) {
  return Deadline::after(engine.clock(), time);
}

class CountingDriver final : public Driver {
 public:
  bool drive(TimePoint) override {
    ++drives;
    return false;
  }
  std::atomic<int> drives{0};
};

class Attached {
 public:
  Attached(PollEngine& engine, Driver& driver) : engine_(engine), driver_(driver) {
    const Engine::Baton baton = engine_.hold();
    engine_.attach(driver_);
  }
  ~Attached() {
    const Engine::Baton baton = engine_.hold();
    engine_.detach(driver_);
  }

 private:
  PollEngine& engine_;
  Driver& driver_;
};

// An event that wakes whoever sleeps in the engine.
class Bell final : public FdHandler {
 public:
  explicit Bell(PollEngine& engine) : engine_(engine), fd_(::eventfd(0, EFD_NONBLOCK)) {
    const Engine::Baton baton = engine_.hold();
    EXPECT_TRUE(engine_.watch(fd_.get(), *this).ok());
  }
  ~Bell() {
    const Engine::Baton baton = engine_.hold();
    engine_.forget(fd_.get(), *this);
  }
  void ring() const {
    const std::uint64_t one = 1;
    EXPECT_EQ(::write(fd_.get(), &one, sizeof one), 8);
  }
  bool rang() const { return rang_; }

 private:
  bool on_ready(std::uint32_t) override {
    std::uint64_t count = 0;
    rang_ = rang_ || ::read(fd_.get(), &count, sizeof count) > 0;
    return true;
  }
  PollEngine& engine_;
  const UniqueFd fd_;
  std::atomic<bool> rang_{false};
};

TEST(PollEngine, AWaitEndsWithItsConditionOrItsDeadline) {
  const auto engine = make_engine();
  EXPECT_TRUE(engine->wait([] { return true; }, in(*engine, seconds(-1))));
  const TimePoint before = engine->clock().now();
  EXPECT_FALSE(engine->wait([] { return false; }, in(*engine, milliseconds(30))));
  EXPECT_GE(engine->clock().now() - before, milliseconds(30));
}

TEST(PollEngine, WhoeverWaitsDrives) {
  const auto engine = make_engine();
  CountingDriver driver;
  const Attached attached(*engine, driver);
  EXPECT_TRUE(engine->wait([&] { return driver.drives > 10; }, in(*engine, seconds(20))));
}

TEST(PollEngine, ADescriptorWakesASleepingWait) {
  const auto engine = make_engine();
  Bell bell(*engine);
  std::thread ringer([&] {
    // Long enough for the other to be asleep; right also if it is not.
    (void)make_engine()->wait([] { return false; }, in(*engine, milliseconds(30)));
    bell.ring();
  });
  EXPECT_TRUE(engine->wait([&] { return bell.rang(); }, in(*engine, seconds(20))));
  ringer.join();
}

TEST(PollEngine, TheBatonCanBeTakenWhileAnotherWaits) {
  const auto engine = make_engine();
  bool flag = false;  // guarded by the baton
  std::thread waiter(
      [&] { EXPECT_TRUE(engine->wait([&] { return flag; }, in(*engine, seconds(20)))); });
  for (int i = 0; i < 1000; ++i) {
    const Engine::Baton baton = engine->hold();
    flag = i == 999;
  }
  waiter.join();
}

TEST(PollEngine, SeveralMayWaitAtOnce) {
  const auto engine = make_engine();
  int turn = 0;  // guarded by the baton
  std::vector<std::thread> threads;
  for (int mine = 0; mine < 4; ++mine) {
    threads.emplace_back([&, mine] {
      const auto is_my_turn = [&] { return turn == mine; };
      EXPECT_TRUE(engine->wait(is_my_turn, in(*engine, seconds(20))));
      const Engine::Baton baton = engine->hold();
      ++turn;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(turn, 4);
}

TEST(PollEngine, WhatIsOutstandingIsDrivenAlthoughNobodyWaits) {
  const auto engine = make_engine();
  CountingDriver driver;
  const Attached attached(*engine, driver);
  {
    const Engine::Baton baton = engine->hold();
    engine->begin_background();
  }
  while (driver.drives < 10) std::this_thread::yield();
  {
    const Engine::Baton baton = engine->hold();
    engine->end_background();
  }
}

TEST(PollEngine, ABusyBackgroundLetsTheForegroundIn) {
  const auto engine = make_engine();
  CountingDriver driver;
  const Attached attached(*engine, driver);
  {
    const Engine::Baton baton = engine->hold();
    engine->begin_background();
  }
  for (int i = 0; i < 100; ++i) {
    const int before = driver.drives;
    EXPECT_TRUE(engine->wait([&] { return driver.drives > before; }, in(*engine, seconds(20))));
  }
  const Engine::Baton baton = engine->hold();
  engine->end_background();
}

}  // namespace
}  // namespace paceline
