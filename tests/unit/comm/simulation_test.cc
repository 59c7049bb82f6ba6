#include "comm/simulation.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline {
namespace {

using std::chrono::milliseconds;

Deadline in(const Engine& engine, Duration time) { return Deadline::after(engine.clock(), time); }

// Ranks pass a token along; the trace says who ran when.
std::string trace_of(std::uint64_t seed) {
  Simulation simulation({.ranks = 4, .seed = seed});
  std::string trace;
  std::vector<int> inbox(4, 0);
  const Status status = simulation.run([&](int rank, Engine& engine) {
    for (int round = 0; round < 10; ++round) {
      trace += static_cast<char>('0' + rank);
      const auto next = static_cast<std::size_t>((rank + 1) % 4);
      simulation.schedule(Duration(simulation.random().below(1000)), [&, next] {
        ++inbox[next];
        simulation.touch(static_cast<int>(next));
      });
      const auto came = [&] { return inbox[static_cast<std::size_t>(rank)] > round; };
      EXPECT_TRUE(engine.wait(came, in(engine, milliseconds(10))));
    }
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
  return trace;
}

TEST(Simulation, ASeedDecidesTheOrder) {
  EXPECT_EQ(trace_of(7), trace_of(7));
  int different = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) different += trace_of(seed) != trace_of(0);
  EXPECT_GE(different, 19);
}

TEST(Simulation, TimePassesOnlyWhenNobodyCanRun) {
  Simulation simulation({.ranks = 2});
  const Status status = simulation.run([&](int rank, Engine& engine) {
    const TimePoint before = engine.clock().now();
    EXPECT_FALSE(engine.wait([] { return false; }, in(engine, std::chrono::hours(rank + 1))));
    EXPECT_EQ(engine.clock().now() - before, std::chrono::hours(rank + 1));
  });
  EXPECT_TRUE(status.ok());
}

TEST(Simulation, AWorldInWhichNothingCanHappenIsReported) {
  Simulation simulation({.ranks = 3, .seed = 5});
  const Status status = simulation.run([](int, Engine& engine) {
    (void)engine.wait([] { return false; }, Deadline::at(TimePoint::max()));
  });
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_NE(status.text().find("seed 5"), std::string::npos) << status.text();
}

TEST(Simulation, AWorldThatNeverEndsIsReported) {
  Simulation simulation({.ranks = 2, .step_limit = 1000});
  const Status status = simulation.run([](int, Engine& engine) {
    while (engine.clock().now() < TimePoint(std::chrono::hours(1))) {
      const TimePoint before = engine.clock().now();
      (void)engine.wait([] { return false; }, in(engine, milliseconds(1)));
      if (engine.clock().now() == before) return;  // waits end at once: it was given up
    }
  });
  EXPECT_EQ(status.code(), Code::kInternal);
}

TEST(Simulation, AThousandRanksRun) {
  constexpr int kRanks = 1000;
  Simulation simulation({.ranks = kRanks, .seed = 3});
  int arrived = 0;
  const Status status = simulation.run([&](int, Engine& engine) {
    if (++arrived == kRanks) {
      for (int rank = 0; rank < kRanks; ++rank) simulation.touch(rank);
    }
    EXPECT_TRUE(engine.wait([&] { return arrived == kRanks; }, in(engine, milliseconds(1))));
  });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(arrived, kRanks);
}

}  // namespace
}  // namespace paceline
