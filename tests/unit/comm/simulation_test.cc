// The order of hand-overs, and how a simulation ends.

#include "comm/simulation.h"

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/comm/patience.h"

namespace paceline {
namespace {

using testing::kNever;

struct Step {
  int rank;
  TimePoint time;

  bool operator==(const Step&) const = default;
};

// Ranks that wait for random times and for each other, with events in between.
std::vector<Step> trace_of(std::uint64_t seed) {
  constexpr int kRanks = 5;
  Simulation simulation({.ranks = kRanks, .seed = seed});
  std::vector<Step> trace;
  std::vector<int> rounds(kRanks);
  const Status status = simulation.run([&](int rank, Engine& engine) {
    const auto own = static_cast<std::size_t>(rank);
    const auto next = static_cast<std::size_t>((rank + 1) % kRanks);
    Random random(own);
    for (int round = 0; round < 20; ++round) {
      const Duration pause(random.below(3) * 1000);
      EXPECT_FALSE(engine.wait(kNever, Deadline::after(engine.clock(), pause)));
      trace.push_back({rank, engine.clock().now()});
      ++rounds[own];
      const int before = (rank + kRanks - 1) % kRanks;
      simulation.schedule(Duration(random.below(3) * 1000),
                          [&simulation, before] { simulation.touch(before); });
      EXPECT_TRUE(
          engine.wait([&] { return rounds[next] >= round; }, Deadline::at(TimePoint::max())));
      trace.push_back({rank, engine.clock().now()});
    }
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
  return trace;
}

TEST(Simulation, OneSeedIsOneOrder) {
  for (const std::uint64_t seed : {0ull, 1ull, 2ull, 12345678901234567ull}) {
    EXPECT_EQ(trace_of(seed), trace_of(seed)) << "seed " << seed;
  }
}

TEST(Simulation, OtherSeedsAreOtherOrders) {
  std::vector<std::vector<Step>> traces;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    traces.push_back(trace_of(seed));
    for (std::uint64_t other = 0; other < seed; ++other) {
      EXPECT_NE(traces[other], traces[seed]) << "seeds " << other << " and " << seed;
    }
  }
}

TEST(Simulation, EveryRankRunsOnceWithItsOwnEngine) {
  Simulation simulation({.ranks = 7, .seed = 3});
  EXPECT_EQ(simulation.ranks(), 7);
  EXPECT_EQ(simulation.seed(), 3u);
  std::vector<int> runs(7);
  EXPECT_TRUE(simulation
                  .run([&](int rank, Engine& engine) {
                    ++runs[static_cast<std::size_t>(rank)];
                    EXPECT_EQ(&engine, &simulation.engine(rank));
                    EXPECT_EQ(&engine.clock(), &simulation.clock());
                  })
                  .ok());
  EXPECT_EQ(runs, std::vector<int>(7, 1));
}

TEST(Simulation, WhoIsTouchedLooksAgain) {
  Simulation simulation({.ranks = 2, .seed = 1});
  bool flag = false, seen = false;
  const Status status = simulation.run([&](int rank, Engine& engine) {
    if (rank == 0) {
      seen = engine.wait([&] { return flag; }, Deadline::at(TimePoint::max()));
    } else {
      EXPECT_FALSE(engine.wait(kNever, Deadline::after(engine.clock(), Duration(1000))));
      flag = true;
      simulation.touch(0);
    }
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_TRUE(seen);
}

TEST(Simulation, AStuckWorldIsReportedWithItsSeed) {
  Simulation simulation({.ranks = 3, .seed = 42});
  int unsatisfied = 0;
  const Status status = simulation.run([&](int, Engine& engine) {
    unsatisfied += !engine.wait(kNever, Deadline::at(TimePoint::max()));
    unsatisfied += !engine.wait(kNever, Deadline::at(TimePoint::max()));
  });
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_NE(status.text().find("seed 42"), std::string::npos) << status.text();
  EXPECT_NE(status.text().find("stuck"), std::string::npos) << status.text();
  EXPECT_EQ(unsatisfied, 6) << "every wait ends, so that the bodies return";
}

TEST(Simulation, AWorldThatNeverComesToRestIsReported) {
  Simulation simulation({.ranks = 2, .seed = 42, .step_limit = 1000});
  int waits = 0;
  const Status status = simulation.run([&](int, Engine& engine) {
    for (int i = 0; i < 100'000; ++i, ++waits) {
      (void)engine.wait(kNever, Deadline::after(engine.clock(), Duration(1)));
    }
  });
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_NE(status.text().find("limit of steps"), std::string::npos) << status.text();
  EXPECT_NE(status.text().find("seed 42"), std::string::npos) << status.text();
  EXPECT_EQ(waits, 200'000);
}

TEST(Simulation, EventsComeAtTheirStep) {
  for (const std::uint64_t step : {0ull, 1ull, 2ull, 17ull, 60ull}) {
    Simulation simulation({.ranks = 3, .seed = 9});
    std::vector<std::uint64_t> came;
    simulation.at_step(step, [&] { came.push_back(simulation.steps()); });
    simulation.at_step(step, [&] { came.push_back(simulation.steps()); });
    simulation.at_step(1'000'000, [] { ADD_FAILURE() << "the bodies have returned earlier"; });
    const Status status = simulation.run([&](int, Engine& engine) {
      for (int i = 0; i < 20; ++i) {
        EXPECT_FALSE(engine.wait(kNever, Deadline::after(engine.clock(), Duration(i))));
      }
    });
    EXPECT_TRUE(status.ok()) << status.to_string();
    EXPECT_EQ(came, std::vector<std::uint64_t>(2, std::max<std::uint64_t>(step, 1)));
    EXPECT_GT(simulation.steps(), 60u);
  }
}

TEST(Simulation, AnEventAtAStepDoesNotChangeTheOrder) {
  const auto steps_of = [](bool with_event) {
    Simulation simulation({.ranks = 4, .seed = 8});
    std::vector<Step> trace;
    if (with_event) simulation.at_step(10, [] {});
    EXPECT_TRUE(simulation
                    .run([&](int rank, Engine& engine) {
                      for (int i = 0; i < 20; ++i) {
                        (void)engine.wait(kNever, Deadline::after(engine.clock(), Duration(10)));
                        trace.push_back({rank, engine.clock().now()});
                      }
                    })
                    .ok());
    return trace;
  };
  EXPECT_EQ(steps_of(false), steps_of(true));
}

// Simulations of few and many ranks, one after the other, on the same threads and on their own.
TEST(Simulation, ThreadsAreKeptFromOneToTheNext) {
  RankThreads threads;
  std::set<std::thread::id> used;
  for (int round = 0; round < 50; ++round) {
    const int ranks = 1 + round % 7;
    Simulation simulation({.ranks = ranks, .seed = 4, .threads = &threads});
    int runs = 0;
    EXPECT_TRUE(simulation
                    .run([&](int, Engine& engine) {
                      used.insert(std::this_thread::get_id());
                      EXPECT_FALSE(
                          engine.wait(kNever, Deadline::after(engine.clock(), Duration(7))));
                      ++runs;
                    })
                    .ok());
    EXPECT_EQ(runs, ranks);
  }
  EXPECT_EQ(used.size(), 7u);
}

// A token goes round: each rank waits for the one before it.
TEST(Simulation, AThousandRanksRun) {
  constexpr int kRanks = 1000;
  Simulation simulation({.ranks = kRanks, .seed = 5});
  int token = 0;
  const Status status = simulation.run([&](int rank, Engine& engine) {
    EXPECT_TRUE(engine.wait([&] { return token == rank; },
                            Deadline::after(engine.clock(), std::chrono::seconds(1))));
    ++token;
    simulation.touch((rank + 1) % kRanks);
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(token, kRanks);
}

}  // namespace
}  // namespace paceline
