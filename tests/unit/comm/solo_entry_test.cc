#include "comm/solo_entry.h"

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::testing {
namespace {

// Where the kernel has no barriers, the way is closed from the beginning.
bool may_open() { return register_for_barriers(BarrierScope::kProcess); }

TEST(SoloEntry, LetsTheFirstThreadInAndOut) {
  SoloEntry entry;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(entry.is_inside());
    ASSERT_EQ(entry.enter(), may_open());
    EXPECT_EQ(entry.is_inside(), may_open());
    entry.leave();
  }
}

TEST(SoloEntry, LetsNoOtherThreadInAndNobodyOnceClosed) {
  SoloEntry entry;
  EXPECT_TRUE(entry.is_mine());
  std::thread([&] {
    EXPECT_FALSE(entry.is_mine());
    EXPECT_FALSE(entry.enter());
    entry.close();
    EXPECT_FALSE(entry.enter());
  }).join();
  EXPECT_TRUE(entry.is_mine());
  EXPECT_FALSE(entry.enter());
  EXPECT_FALSE(entry.is_inside());
  entry.close();
}

// A lock as the engine's: what it guards is a plain number.
TEST(SoloEntry, GuardsTogetherWithALock) {
  constexpr int kRounds = 200, kTurns = 200, kThreads = 3;
  for (int round = 0; round < kRounds; ++round) {
    SoloEntry entry;
    std::mutex mutex;
    int guarded = 0;
    const auto add = [&] {
      if (entry.enter()) {
        ++guarded;
        return entry.leave();
      }
      if (!entry.is_mine()) entry.close();
      const std::lock_guard lock(mutex);
      ++guarded;
    };
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&] {
        ++ready;
        while (ready.load() < kThreads) std::this_thread::yield();
        for (int turn = 0; turn < kTurns; ++turn) add();
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(guarded, kThreads * kTurns);
  }
}

}  // namespace
}  // namespace paceline::testing
