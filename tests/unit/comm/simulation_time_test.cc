// Simulated time: when it passes, and when events come.

#include <vector>

#include <gtest/gtest.h>

#include "comm/simulation.h"
#include "tests/unit/comm/patience.h"

namespace paceline {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;
using testing::kNever;

const TimePoint kBegin{};

TEST(SimulatedTime, StandsStillWhileRanksCompute) {
  Simulation simulation({.ranks = 4, .seed = 1});
  EXPECT_TRUE(simulation
                  .run([](int, Engine& engine) {
                    for (int i = 0; i < 100; ++i) {
                      EXPECT_TRUE(engine.wait([] { return true; }, Deadline::at(TimePoint::max())));
                      EXPECT_FALSE(engine.wait(kNever, Deadline::at(engine.clock().now())));
                    }
                  })
                  .ok());
  EXPECT_EQ(simulation.clock().now(), kBegin);
}

// An hour passes at once: nobody could run before.
TEST(SimulatedTime, GoesToTheNextDeadlineWhenNobodyCanRun) {
  Simulation simulation({.ranks = 3, .seed = 2});
  EXPECT_TRUE(simulation
                  .run([](int rank, Engine& engine) {
                    const TimePoint moment = kBegin + std::chrono::hours(rank + 1);
                    EXPECT_FALSE(engine.wait(kNever, Deadline::at(moment)));
                    EXPECT_EQ(engine.clock().now(), moment);
                  })
                  .ok());
  EXPECT_EQ(simulation.clock().now(), kBegin + std::chrono::hours(3));
}

TEST(SimulatedTime, EventsComeAtTheirMomentInTheOrderOfTheCalls) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Simulation simulation({.ranks = 2, .seed = seed});
    std::vector<int> order;
    const auto note = [&](int number, Duration delay) {
      simulation.schedule(delay, [&, number, delay] {
        order.push_back(number);
        EXPECT_EQ(simulation.clock().now(), kBegin + delay);
      });
    };
    EXPECT_TRUE(simulation
                    .run([&](int rank, Engine& engine) {
                      if (rank == 0) {
                        note(3, microseconds(20));
                        note(1, microseconds(10));
                        note(2, microseconds(10));
                        note(0, Duration::zero());
                      }
                      EXPECT_FALSE(
                          engine.wait(kNever, Deadline::after(engine.clock(), seconds(1))));
                    })
                    .ok());
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
  }
}

// A rank that could run was computing meanwhile, for as long as the seed says.
TEST(SimulatedTime, AnEventMayComeBeforeARankThatCouldRun) {
  int event_first = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Simulation simulation({.ranks = 2, .seed = seed});
    bool came = false, came_before_other = false;
    EXPECT_TRUE(simulation
                    .run([&](int rank, Engine& engine) {
                      if (rank == 0) simulation.schedule(seconds(1), [&] { came = true; });
                      if (rank == 1) came_before_other = came;
                      if (rank == 0) {
                        EXPECT_FALSE(
                            engine.wait(kNever, Deadline::after(engine.clock(), seconds(2))));
                      }
                    })
                    .ok());
    event_first += came_before_other;
  }
  EXPECT_GT(event_first, 0);
  EXPECT_LT(event_first, 150);
}

TEST(SimulatedTime, ADriverIsDrivenWhenItAskedForIt) {
  class Timer final : public Driver {
   public:
    bool drive(TimePoint now) override {
      if (rang || now < wake) return false;
      rang = true;
      return true;
    }
    TimePoint wake_at() const override { return rang ? TimePoint::max() : wake; }
    const TimePoint wake = kBegin + seconds(5);
    bool rang = false;
  };
  Simulation simulation({.ranks = 2, .seed = 4});
  EXPECT_TRUE(simulation
                  .run([](int, Engine& engine) {
                    Timer timer;
                    engine.attach(timer);
                    EXPECT_TRUE(engine.wait([&] { return timer.rang; },
                                            Deadline::after(engine.clock(), seconds(9))));
                    EXPECT_EQ(engine.clock().now(), timer.wake);
                    engine.detach(timer);
                  })
                  .ok());
}

}  // namespace
}  // namespace paceline
