// Waiting: on a condition, on a deadline, and several threads at once.

#include "comm/poll_engine.h"

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>

#include "comm/base/cpus.h"
#include "comm/doorbell.h"
#include "tests/unit/comm/patience.h"

namespace paceline::testing {
namespace {

// The stages of waiting, alone and together.
struct Stages {
  std::string name;
  PollEngine::Options options;
};
const Stages kStages[] = {{"asleep", {.spin_rounds = 0, .yield_rounds = 0}},
                          {"yielding", {.spin_rounds = 0, .yield_rounds = 1'000'000'000}},
                          {"spinning", {.spin_rounds = 1'000'000'000, .yield_rounds = 0}},
                          {"all", {}}};

// Ends after so many calls of drive(); counts how often it is asked when it must be woken.
class CountingDriver final : public Driver {
 public:
  explicit CountingDriver(PollEngine& engine) : engine_(engine) {
    const Engine::Baton baton = engine_.hold();
    engine_.attach(*this);
  }
  ~CountingDriver() override {
    const Engine::Baton baton = engine_.hold();
    engine_.detach(*this);
  }
  bool drive(TimePoint now) override {
    ++drives;
    return now < busy_until;
  }
  TimePoint wake_at() const override {
    ++naps;
    return wake;
  }

  std::atomic<int> drives{0};
  mutable std::atomic<int> naps{0};
  TimePoint busy_until = TimePoint::min();
  TimePoint wake = TimePoint::max();

 private:
  PollEngine& engine_;
};

class PollEngineTest : public ::testing::TestWithParam<Stages> {
 protected:
  Deadline after_ms(int time_ms) {
    return Deadline::after(engine_->clock(), std::chrono::milliseconds(time_ms));
  }
  TimePoint now() { return engine_->clock().now(); }

  const std::shared_ptr<PollEngine> engine_ = PollEngine::create(GetParam().options).value();
};

TEST_P(PollEngineTest, AConditionThatHoldsIsNotWaitedFor) {
  EXPECT_TRUE(engine_->wait([] { return true; }, Deadline::at(TimePoint::min())));
  EXPECT_TRUE(engine_->wait([] { return true; }, patient()));
}

TEST_P(PollEngineTest, ADeadlineEndsTheWaitAndNotBefore) {
  EXPECT_FALSE(engine_->wait(kNever, Deadline::at(TimePoint::min())));
  for (const int time_ms : {1, 30}) {
    const Deadline deadline = after_ms(time_ms);
    EXPECT_FALSE(engine_->wait(kNever, deadline));
    EXPECT_GE(now(), deadline.moment());
    EXPECT_LT(now(), deadline.moment() + std::chrono::seconds(20));
  }
}

TEST_P(PollEngineTest, DriversAreDrivenUntilTheConditionHolds) {
  CountingDriver driver(*engine_);
  driver.wake = TimePoint::min();  // at once
  EXPECT_TRUE(engine_->wait([&] { return driver.drives >= 100; }, patient()));
}

TEST_P(PollEngineTest, ADriverIsWokenWhenItAskedForIt) {
  CountingDriver driver(*engine_);
  driver.wake = now() + std::chrono::milliseconds(20);
  EXPECT_TRUE(engine_->wait([&] { return now() >= driver.wake; }, patient()));
  EXPECT_LT(now(), driver.wake + std::chrono::seconds(20));
}

// Others' traffic never stops moving; a wait with a deadline ends all the same.
TEST_P(PollEngineTest, ABusyDriverDoesNotKeepAWaitBeyondItsDeadline) {
  CountingDriver driver(*engine_);
  driver.busy_until = now() + std::chrono::seconds(5);
  EXPECT_FALSE(engine_->wait(kNever, after_ms(10)));
  EXPECT_LT(now(), driver.busy_until);
}

TEST_P(PollEngineTest, TwoThreadsWaitAndEachHearsOfItsOwn) {
  std::atomic<int> turn{0};
  const auto play = [&](int me) {
    for (int round = 0; round < 200; ++round) {
      EXPECT_TRUE(engine_->wait([&] { return turn % 2 == me; }, patient()));
      const Engine::Baton baton = engine_->hold();
      ++turn;
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  EXPECT_EQ(turn, 400);
}

// Nothing moves: the one with the longer deadline drives, the other must get to see its own.
TEST_P(PollEngineTest, ThreadsThatWaitTogetherKeepTheirOwnDeadlines) {
  std::atomic<bool> enough{false};
  std::vector<std::thread> patient_ones;
  for (int i = 0; i < 2; ++i) {
    patient_ones.emplace_back(
        [&] { EXPECT_TRUE(engine_->wait([&] { return enough.load(); }, after_ms(30'000))); });
  }
  for (int round = 0; round < 5; ++round) {
    const Deadline deadline = after_ms(20);
    EXPECT_FALSE(engine_->wait(kNever, deadline));
    EXPECT_LT(now(), deadline.moment() + std::chrono::seconds(5));
  }
  {
    const Engine::Baton baton = engine_->hold();
    enough = true;
  }
  for (std::thread& thread : patient_ones) thread.join();
}

INSTANTIATE_TEST_SUITE_P(Stages, PollEngineTest, ::testing::ValuesIn(kStages),
                         [](const auto& instance) { return instance.param.name; });

TEST(PollEngine, TheBatonIsHadWhileAnotherThreadWaitsAsleep) {
  const auto engine = PollEngine::create({.spin_rounds = 0, .yield_rounds = 0}).value();
  CountingDriver driver(*engine);
  bool done = false;
  std::thread sleeper([&] { EXPECT_TRUE(engine->wait([&] { return done; }, patient())); });
  ASSERT_TRUE(comes_true([&] { return driver.naps > 0; })) << "it never went to sleep";
  for (int round = 0; round < 100; ++round) {
    const Engine::Baton baton = engine->hold();
    done = round == 99;
  }
  sleeper.join();
}

TEST(PollEngine, TheBatonIsHeldByOneAtATime) {
  const auto engine = PollEngine::create({}).value();
  int counter = 0;  // guarded by the baton; the thread sanitizer looks
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 1000; ++round) {
        const Engine::Baton baton = engine->hold();
        ++counter;
      }
    });
  }
  EXPECT_TRUE(engine->wait([&] { return counter == 4000; }, patient()));
  for (std::thread& thread : threads) thread.join();
}

// Moves in every third round, each of which takes as long as if another rank had had the CPU. The
// engine has a reason to leave after four such waits in a row; where a wait was long, since others
// need the CPU, it would sleep instead.
class CrowdedDriver final : public Driver {
 public:
  explicit CrowdedDriver(PollEngine& engine) : engine_(engine) {
    const Engine::Baton baton = engine_.hold();
    engine_.attach(*this);
  }
  ~CrowdedDriver() override {
    const Engine::Baton baton = engine_.hold();
    engine_.detach(*this);
  }
  bool drive(TimePoint now) override {
    while (engine_.clock().now() < now + std::chrono::microseconds(20)) continue;
    const int cpu = ::sched_getcpu();
    if (cpu != std::exchange(cpu_, cpu)) ++moves;
    const int round = drives_++ % 3;
    if (round == 0) idle_since_ = now;
    if (round == 2) note_wait(now - idle_since_);
    return round == 2;
  }
  int moves = 0;
  int reasons = 0;

 private:
  void note_wait(Duration waited) {
    const bool is_long = waited > std::chrono::microseconds(90);
    in_a_row_ = is_long ? -1 : in_a_row_ + 1;  // the next one finds no patience left to lose
    if (in_a_row_ < 4) return;
    in_a_row_ = 0;
    ++reasons;
  }

  PollEngine& engine_;
  int drives_ = 0, in_a_row_ = 0;
  TimePoint idle_since_{};
  int cpu_ = ::sched_getcpu();
};

TEST(PollEngine, WhoIsHelpedByYieldsAloneLeavesItsCpu) {
  if (allowed_cpus() == 1) GTEST_SKIP() << "there is one CPU only";
  constexpr int kReasons = 40;
  const auto engine = PollEngine::create({.spin_rounds = 1, .yield_rounds = 1'000'000}).value();
  CrowdedDriver driver(*engine);
  const Deadline deadline = Deadline::after(engine->clock(), std::chrono::seconds(20));
  if (!engine->wait([&] { return driver.reasons == kReasons; }, deadline))
    GTEST_SKIP() << "others keep all CPUs busy";
  EXPECT_GT(driver.moves, kReasons / 4);
}

TEST(PollEngine, MoreRanksThanCpusDoNotSpin) {
  EXPECT_GT(PollEngine::options_for(1).spin_rounds, 0);
  EXPECT_EQ(PollEngine::options_for(1'000'000).spin_rounds, 0);
}

// Something to do every `period`.
class TickingDriver final : public Driver {
 public:
  explicit TickingDriver(Duration period) : period_(period) {}
  bool drive(TimePoint now) override {
    ++drives;
    if (now < next_) return false;
    next_ = now + period_;
    ++ticks;
    return true;
  }
  TimePoint wake_at() const override { return next_; }

  int drives = 0, ticks = 0;

 private:
  const Duration period_;
  TimePoint next_ = TimePoint::min();
};

// How often it looks in ten waits, of up to 2,000 rounds each, once there have been some.
int looks_in_ten_long_waits(Doorbell* doorbell) {
  const auto engine = PollEngine::create({.spin_rounds = 1000, .yield_rounds = 1000}).value();
  TickingDriver driver(std::chrono::milliseconds(3));
  {
    const Engine::Baton baton = engine->hold();
    engine->attach(driver);
    engine->sleep_at(doorbell);
  }
  EXPECT_TRUE(engine->wait([&] { return driver.ticks >= 15; }, patient()));
  driver.drives = 0;
  EXPECT_TRUE(engine->wait([&] { return driver.ticks >= 25; }, patient()));
  const Engine::Baton baton = engine->hold();
  engine->sleep_at(nullptr);
  engine->detach(driver);
  return driver.drives;
}

TEST(LongWaits, AreSleptThroughOnceThereHaveBeenSome) {
  EXPECT_LT(looks_in_ten_long_waits(nullptr), 10 * 100);
}

TEST(LongWaits, OfRanksThatShareMemoryGoOnAsTheyBegan) {
  Doorbell bell;
  EXPECT_GT(looks_in_ten_long_waits(&bell), 10 * 100);
}

}  // namespace
}  // namespace paceline::testing
