// Splitting: ranks as threads that meet by an id, as an application's do.

#include <chrono>
#include <filesystem>
#include <functional>
#include <iterator>
#include <latch>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <paceline/communicator.h>

#include "comm/base/clock.h"
#include "tests/harness/ranks.h"

namespace paceline::testing {
namespace {

using std::chrono::milliseconds;

constexpr InitOptions kOptions{.timeout_ms = milliseconds(30'000)};

void run_world(int ranks, const std::function<void(Communicator world)>& body) {
  const auto id = make_unique_id();
  ASSERT_TRUE(id.ok()) << id.status().to_string();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      auto world = Communicator::init(*id, rank, ranks, kOptions);
      ASSERT_TRUE(world.ok()) << world.status().to_string();
      body(*std::move(world));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The sum of what its ranks pass; -1 after an error.
int sum_over(Communicator& communicator, int value) {
  const Status status = communicator.all_reduce(std::span(&value, 1));
  EXPECT_TRUE(status.ok()) << status.to_string();
  return status.ok() ? value : -1;
}

TEST(Split, GathersRanksOfOneColorInTheOrderOfTheirKeys) {
  struct Member {
    int color, key;       // passed
    int rank, size, sum;  // expected; the sum is of ranks of the whole
  };
  static constexpr Member kMembers[] = {{0, 7, 1, 3, 0 + 2 + 5}, {9, 0, 1, 2, 1 + 4},
                                        {0, 3, 0, 3, 0 + 2 + 5}, {kNoColor, 0, 0, 0, 0},
                                        {9, -1, 0, 2, 1 + 4},    {0, 7, 2, 3, 0 + 2 + 5}};
  run_world(6, [](Communicator world) {
    const Member& member = kMembers[world.rank()];
    auto part = world.split(member.color, member.key);
    ASSERT_TRUE(part.ok()) << part.status().to_string();
    ASSERT_EQ(part->has_value(), member.color != kNoColor);
    EXPECT_EQ(sum_over(world, world.rank()), 15) << "the whole goes on";
    if (!part->has_value()) return;
    Communicator& own = **part;
    EXPECT_EQ(own.rank(), member.rank);
    EXPECT_EQ(own.size(), member.size);
    EXPECT_EQ(sum_over(own, world.rank()), member.sum);
    EXPECT_TRUE(own.close().ok());
  });
}

TEST(Split, PartsOutliveTheWholeAndAreSplitInTheirTurn) {
  run_world(8, [](Communicator world) {
    for (int size = 4; size >= 1; size /= 2) {
      auto half = world.split(world.rank() / size, world.rank());
      ASSERT_TRUE(half.ok()) << half.status().to_string();
      world = std::move(**half);  // the one before is gone
      ASSERT_EQ(world.size(), size);
      EXPECT_EQ(sum_over(world, 1), size);
    }
  });
}

TEST(Split, PartsAndTheWholeRunSideBySide) {
  run_world(4, [](Communicator world) {
    auto part = world.split(world.rank() % 2, 0);
    ASSERT_TRUE(part.ok()) << part.status().to_string();
    std::thread beside([&] {
      for (int i = 0; i < 200; ++i) ASSERT_EQ(sum_over(**part, i), 2 * i);
    });
    for (int i = 0; i < 200; ++i) ASSERT_EQ(sum_over(world, i), 4 * i);
    beside.join();
  });
}

TEST(Split, TheDeadlineIsTheOneOfTheWhole) {
  const SystemClock clock;
  std::latch over(1);
  const auto wait_for_nobody = [&](Communicator world) {
    ASSERT_TRUE(world.set_timeout(milliseconds(1000)).ok());
    auto part = world.split(0, 0);
    ASSERT_TRUE(part.ok()) << part.status().to_string();
    if (world.rank() != 0) return over.wait();  // there, but never called
    const TimePoint begin = clock.now();
    EXPECT_EQ((*part)->barrier().code(), Code::kTimeout);
    EXPECT_LT(clock.now() - begin, std::chrono::seconds(30));
    over.count_down();
  };
  run_world(2, wait_for_nobody);
}

TEST(Split, RefusesWhatIsNoColorAndGoesOn) {
  run_world(2, [](Communicator world) {
    EXPECT_EQ(world.split(-2, 0).status().code(), Code::kInvalidArgument);
    EXPECT_EQ(sum_over(world, 1), 2);
  });
}

// As its process has been told wrongly. The others of its color do not wait for it.
TEST(Split, WhatOneRankMayNotAskForFailsOnAll) {
  run_world(3, [](Communicator world) {
    InitOptions options;
    if (world.rank() == 1) options.timeout_ms = milliseconds(-1);
    const auto part = world.split(world.rank() == 2 ? 1 : 0, 0, options);
    EXPECT_EQ(part.ok(), world.rank() == 2) << "another color goes on";
    if (!part.ok()) {
      EXPECT_NE(part.status().text().find("timeout_ms -1"), std::string::npos)
          << part.status().to_string();
    }
    EXPECT_EQ(sum_over(world, 1), 3);
  });
}

std::size_t entries(const char* folder) {
  const std::filesystem::directory_iterator all(folder);
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST(Split, TakesNoDescriptorAndNoThread) {
  run_world(2, [](Communicator world) {
    struct Held {
      std::size_t descriptors = 0, threads = 0;
      bool operator==(const Held&) const = default;
    };
    // To count opens a descriptor, so one rank counts while the other waits.
    const auto held = [&] {
      Held all;
      if (world.rank() == 0)
        all = {.descriptors = entries("/proc/self/fd"), .threads = entries("/proc/self/task")};
      EXPECT_TRUE(world.barrier().ok());
      return all;
    };
    std::vector<Communicator> parts;
    EXPECT_TRUE(world.barrier().ok());
    const Held before = held();
    for (int i = 0; i < 20; ++i) parts.push_back(*world.split(0, world.rank()).value());
    for (Communicator& part : parts) EXPECT_EQ(sum_over(part, 1), 2);
    EXPECT_TRUE(world.barrier().ok());
    EXPECT_EQ(held(), before);
  });
}

TEST(Split, PartsHaveTheirNameInTheGroup) {
  run_world(2, [](Communicator world) {
    const auto part = world.split(3, 0).value();  // behind the barrier of init()
    EXPECT_EQ(part->group().name, "world; split #1, color 3");
  });
}

TEST(Split, EndsWhereARankHasGone) {
  run_world(3, [](Communicator world) {
    if (world.rank() == 2) return;
    const auto part = world.split(0, 0);
    ASSERT_FALSE(part.ok());
    EXPECT_EQ(part.status().code(), Code::kPeerLost) << part.status().to_string();
    EXPECT_EQ(part.status().culprit().rank, 2);
  });
}

TEST(Split, ACommunicatorOfPartsHasNoWayTo) {
  const Status status =
      run_ranks({.mode = Mode::kSimulation, .ranks = 2}, [](Communicator& world) -> Status {
        const auto part = world.split(0, 0);
        EXPECT_EQ(part.status().code(), Code::kInvalidArgument);
        return world.close();
      });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST(Subset, HasTheRanksOfItsListInThatOrder) {
  run_world(4, [](Communicator world) {
    const std::vector<int> ranks = {3, 0, 1};
    auto part = world.subset(ranks, {.name = "three of four"});
    ASSERT_TRUE(part.ok()) << part.status().to_string();
    ASSERT_EQ(part->has_value(), world.rank() != 2);
    if (!*part) return;
    EXPECT_EQ((*part)->size(), 3);
    EXPECT_EQ(ranks[static_cast<std::size_t>((*part)->rank())], world.rank());
    EXPECT_EQ(sum_over(**part, world.rank()), 4);
  });
}

TEST(Subset, RanksThatPassDifferentListsAreToldSo) {
  run_world(3, [](Communicator world) {
    const std::vector<int> ranks = {0, world.rank() == 2 ? 2 : 1};
    const auto part = world.subset(ranks);
    ASSERT_FALSE(part.ok());
    EXPECT_EQ(part.status().code(), Code::kMismatch) << part.status().to_string();
    EXPECT_EQ(sum_over(world, 1), 3) << "the whole goes on";
  });
}

TEST(Subset, WrongListsAreRefusedAtOnce) {
  run_world(2, [](Communicator world) {
    for (const std::vector<int>& ranks : {std::vector<int>{}, {0, 0}, {-1}, {2}, {0, 1, 2}}) {
      const auto part = world.subset(ranks);
      ASSERT_FALSE(part.ok());
      EXPECT_EQ(part.status().code(), Code::kInvalidArgument) << part.status().to_string();
    }
  });
}

TEST(Names, StandInErrors) {
  run_world(2, [](Communicator world) {
    auto part = world.split(0, 0, {.name = "pair"});
    ASSERT_TRUE(part.ok()) << part.status().to_string();
    int value = 0;
    const Work work = (*part)->all_reduce_async(std::span(&value, 1));
    if (world.rank() == 0) {
      part->reset();
    } else {
      float other = 0;
      const Status status = (*part)->all_reduce(std::span(&other, 1));
      EXPECT_NE(status.to_string().find(" of pair"), std::string::npos) << status.to_string();
    }
    EXPECT_TRUE(world.barrier().ok());
  });
}

TEST(Names, AreShortAndPrintable) {
  run_world(1, [](Communicator world) {
    for (const std::string& name : {std::string(64, 'x'), std::string("two\nlines")}) {
      const auto part = world.split(0, 0, {.name = name});
      ASSERT_FALSE(part.ok());
      EXPECT_EQ(part.status().code(), Code::kInvalidArgument) << part.status().to_string();
    }
    EXPECT_TRUE(world.split(0, 0, {.name = std::string(63, 'x')}).ok());
  });
}

}  // namespace
}  // namespace paceline::testing
