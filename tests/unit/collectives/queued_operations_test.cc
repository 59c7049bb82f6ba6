// Operations that wait behind others: their messages leave early where nothing can go wrong.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <paceline/buffer.h>

#include "comm/base/random.h"
#include "comm/base/try.h"
#include "tests/harness/ranks.h"

namespace paceline::testing {
namespace {

using Array = std::vector<std::int64_t>;

// All ranks contribute the same, so that the sum over n ranks is n times as much.
class Chain {
 public:
  Chain(Communicator& world, std::uint64_t seed) : world_(world), random_(seed) {
    for (Array& array : arrays_) {
      array.resize(1 + random_.below(3000));
      std::iota(array.begin(), array.end(), 1);
    }
    expected_ = arrays_;
  }

  // On an array alone, or from one into another; some are used again and again.
  void call() {
    const std::size_t from = random_.below(arrays_.size()), to = random_.below(arrays_.size());
    const std::size_t count = std::min(arrays_[from].size(), arrays_[to].size());
    works_.push_back(
        world_.all_reduce_async(arrays_[from].data(), arrays_[to].data(), count, DataType::kInt64));
    for (std::size_t i = 0; i < count; ++i) expected_[to][i] = expected_[from][i] * world_.size();
  }

  Status end() {
    for (const Work& work : works_)
      if (Status status = work.wait(); !status.ok()) return status;
    if (arrays_ == expected_) return {};
    return Status(Code::kInternal, Scope::kOperation, "a result is wrong");
  }

 private:
  Communicator& world_;
  Random random_;
  std::array<Array, 4> arrays_, expected_;
  std::vector<Work> works_;
};

class QueuedOperations : public ::testing::TestWithParam<Mode> {};

TEST_P(QueuedOperations, WhatUsesAResultWaitsForIt) {
  const int schedules = GetParam() == Mode::kSimulation ? 100 : 10;
  for (const std::uint64_t seed : seeds(schedules)) {
    for (const int ranks : {2, 3, 4}) {
      const RunOptions options{.mode = GetParam(), .ranks = ranks, .seed = seed};
      const Status status = run_ranks(options, [seed](Communicator& world) {
        Chain chain(world, seed);
        for (int i = 0; i < 12; ++i) chain.call();
        return chain.end();
      });
      ASSERT_TRUE(status.ok()) << status.to_string();
    }
  }
}

// The second one disagrees, and may have begun before the first one has ended.
TEST_P(QueuedOperations, WhoDisagreesEndsNothingThatWasBefore) {
  for (const std::uint64_t seed : seeds(GetParam() == Mode::kSimulation ? 100 : 5)) {
    const RunOptions options{.mode = GetParam(), .ranks = 3, .seed = seed};
    const Status status = run_ranks(options, [](Communicator& world) {
      std::vector<float> first(5000, 1.0f), second(100 + (world.rank() == 1 ? 1 : 0));
      const Work before = world.all_reduce_async(std::span(first));
      const Work behind = world.all_reduce_async(std::span(second));
      const Status ended = behind.wait();
      if (ended.code() != Code::kMismatch) return ended.with_context("the second");
      const Status legitimate = before.wait();
      const bool is_right = std::ranges::count(first, 3.0f) == std::ssize(first);
      // Who hears of the mismatch before its own part of the first has ended loses that, too.
      if (legitimate.ok() ? is_right : legitimate.code() == Code::kMismatch) return Status();
      return Status(Code::kInternal, Scope::kOperation, "the first: " + legitimate.to_string());
    });
    ASSERT_TRUE(status.ok()) << status.to_string();
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, QueuedOperations,
                         ::testing::Values(Mode::kSimulation, Mode::kThreads,
                                           Mode::kSharedMemoryThreads, Mode::kDirectThreads),
                         [](const auto& instance) { return name(instance.param); });

// In simulated time, where nothing but messages takes any.
std::chrono::nanoseconds time_of(int operations, bool shares_memory) {
  std::chrono::nanoseconds blocked{0};
  const std::chrono::microseconds delay(100);
  const RunOptions options{.ranks = 2,
                           .network = {.min_delay = delay, .max_delay = delay, .synchronous = 0}};
  const Status status = run_ranks(options, [&](Communicator& world) {
    if (Status met = world.barrier(); !met.ok()) return met;
    std::vector<Array> arrays(static_cast<std::size_t>(operations), Array(100, 1));
    const auto before = world.stats().time_blocked;
    std::vector<Work> works;
    const auto array = [&](int i) {
      return std::span(arrays[shares_memory ? 0 : static_cast<std::size_t>(i)]);
    };
    for (int i = 0; i + 1 < operations; ++i) works.push_back(world.all_reduce_async(array(i)));
    Status last = world.all_reduce(array(operations - 1));
    if (world.rank() == 0) blocked = world.stats().time_blocked - before;
    return last;
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
  return blocked;
}

TEST(QueuedOperations, MessagesOfTheNextOneAreUnderWayWithThoseBefore) {
  const auto one = time_of(1, false);
  EXPECT_GT(one.count(), 0);
  EXPECT_LE(time_of(20, false), 12 * one) << "two at a time";
  EXPECT_GE(time_of(20, true), 20 * one) << "each needs the result before it";
}

// Each of them is short, but there are many: no single one has taken the timeout.
TEST(QueuedOperations, ADeadlineThatIsSpentInTheQueueIsSaidToBe) {
  constexpr int kOperations = 100;
  const std::chrono::milliseconds delay(20);
  const auto body = [](Communicator& world) {
    PACELINE_TRY(world.set_timeout(std::chrono::milliseconds(500)));
    Array array(100, 1);
    std::vector<Work> works;
    for (int i = 0; i < kOperations; ++i) works.push_back(world.all_reduce_async(std::span(array)));
    for (const Work& work : works) PACELINE_TRY(work.wait());
    return Status();
  };
  const Status status = run_ranks(
      {.ranks = 2, .network = {.min_delay = delay, .max_delay = delay, .synchronous = 0}}, body);
  EXPECT_EQ(status.code(), Code::kTimeout) << status.to_string();
  EXPECT_NE(status.text().find("of this time for operations that were called before it"),
            std::string::npos)
      << status.to_string();
}

// Both are on their way, and neither writes into memory that its owner has back.
TEST(QueuedOperations, CancelledOnesWriteNothing) {
  constexpr std::size_t kCount = std::size_t{1} << 18;
  std::vector<float> first(kCount), second(kCount);
  std::latch connected(2), over(1);
  const auto body = [&](Communicator& world) {
    const Status met = world.barrier();
    connected.arrive_and_wait();
    if (!met.ok()) return met;
    if (world.rank() == 1) {
      over.wait();
      std::vector<float> ones(kCount, 1.0f);
      (void)world.all_reduce(std::span(ones));
      (void)world.all_reduce(std::span(ones));
      return Status();
    }
    const Work before = world.all_reduce_async(std::span(first));
    const Work behind = world.all_reduce_async(std::span(second));
    (void)before.wait_for(std::chrono::milliseconds(50));
    behind.cancel();
    const bool both =
        before.wait().code() == Code::kCancelled && behind.wait().code() == Code::kCancelled;
    std::ranges::fill(first, 2.0f);
    std::ranges::fill(second, 2.0f);
    over.count_down();
    return both ? Status() : Status(Code::kInternal, Scope::kOperation, "they were not cancelled");
  };
  const Status status = run_ranks({.mode = Mode::kThreads, .ranks = 2}, body);
  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(std::ranges::count(first, 2.0f), std::ssize(first));
  EXPECT_EQ(std::ranges::count(second, 2.0f), std::ssize(second));
}

}  // namespace
}  // namespace paceline::testing
