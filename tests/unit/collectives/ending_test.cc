// How operations end before their time: cancelled, or by a deadline of their own.

#include <algorithm>
#include <chrono>
#include <functional>
#include <latch>
#include <string>

#include <gtest/gtest.h>

#include <paceline/buffer.h>

#include "tests/harness/ranks.h"

namespace paceline::testing {
namespace {

using std::chrono::milliseconds;

constexpr int kEndingRanks = 3;

class Ending : public ::testing::TestWithParam<Mode> {
 protected:
  // Rank 0 does `first`; the others come when it has, and do `then`.
  void run(const std::function<Status(Communicator&)>& first,
           const std::function<Status(Communicator&)>& then) {
    std::latch connected(kEndingRanks), over(1);
    const auto body = [&](Communicator& world) {
      // Only who is connected hears from one that leaves.
      const Status met = world.barrier();
      connected.arrive_and_wait();
      if (!met.ok()) return met;
      if (world.rank() == 0) {
        const Status status = first(world);
        over.count_down();
        return status;
      }
      over.wait();
      return then(world);
    };
    const Status status = run_ranks(
        {.mode = GetParam(), .ranks = kEndingRanks, .timeout = std::chrono::seconds(60)}, body);
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
};

Status expect_code(Code code, const Status& status) {
  if (status.code() == code) return {};
  return Status(Code::kInternal, Scope::kOperation, "ended otherwise: " + status.to_string());
}

// What rank 0 had done of its barrier may be all that the others wait for; the next call tells
// them.
Status expect_by_next_call(Code code, Communicator& world) {
  (void)world.barrier();
  return expect_code(code, world.barrier());
}

// By rank 0, as all ranks are told.
Status expect_cancelled(Communicator& world) {
  if (Status status = expect_by_next_call(Code::kCancelled, world); !status.ok()) return status;
  if (world.failure().culprit().rank == 0) return {};
  return Status(Code::kInternal, Scope::kOperation, "blamed: " + world.failure().to_string());
}

TEST_P(Ending, ACancelledOperationEndsOnEveryRank) {
  const auto cancel = [](Communicator& world) {
    const Work work = world.barrier_async();
    work.cancel();
    EXPECT_TRUE(work.test());
    EXPECT_EQ(work.wait().code(), Code::kCancelled) << work.wait().to_string();
    return expect_cancelled(world);
  };
  run(cancel, expect_cancelled);
}

TEST_P(Ending, AnAbortNamesItsRank) {
  const auto abort = [](Communicator& world) {
    world.abort();
    EXPECT_NE(world.failure().text().find("rank 0 on local aborted"), std::string::npos)
        << world.failure().to_string();
    return expect_cancelled(world);
  };
  run(abort, expect_cancelled);
}

// The others come when it has its memory back, and have all that they need to write there.
TEST_P(Ending, ABufferIsNotWrittenOnceItsOperationHasEnded) {
  constexpr std::size_t kCount = std::size_t{1} << 20;
  const auto filled_with = [](float value) {
    Buffer buffer = Buffer::allocate(kCount * sizeof(float)).value();
    std::ranges::fill(buffer.as<float>(), value);
    return buffer;
  };
  const Buffer own = filled_with(1);
  const auto cancel = [&own](Communicator& world) {
    const Work work = world.all_reduce_async(own.as<float>());
    work.cancel();
    std::ranges::fill(own.as<float>(), 2.0f);
    return expect_code(Code::kCancelled, work.wait());
  };
  const auto reduce = [&](Communicator& world) {
    const Buffer theirs = filled_with(3);
    return expect_code(Code::kCancelled, world.all_reduce(theirs.as<float>()));
  };
  run(cancel, reduce);
  EXPECT_EQ(std::ranges::count(own.as<float>(), 2.0f), static_cast<std::ptrdiff_t>(kCount));
}

TEST_P(Ending, OneThatHasNotBegunEndsThoseBeforeItToo) {
  const auto cancel = [](Communicator& world) {
    const Work before = world.barrier_async(), behind = world.barrier_async();
    behind.cancel();
    EXPECT_EQ(before.wait().code(), Code::kCancelled);
    return expect_code(Code::kCancelled, behind.wait());
  };
  run(cancel, expect_cancelled);
}

TEST_P(Ending, ToCancelWhatHasEndedIsNothing) {
  const auto late = [](Communicator& world) {
    const Work work = world.barrier_async();
    if (Status status = work.wait(); !status.ok()) return status;
    work.cancel();
    return world.close();
  };
  const Status status = run_ranks({.mode = GetParam(), .ranks = kEndingRanks}, late);
  EXPECT_TRUE(status.ok()) << status.to_string();
  Work().cancel();
}

TEST_P(Ending, AnOperationHasTheDeadlineThatWasSetBeforeIt) {
  const auto wait_shortly = [](Communicator& world) {
    EXPECT_EQ(world.set_timeout(milliseconds(0)).code(), Code::kInvalidArgument);
    EXPECT_EQ(world.set_timeout(std::chrono::years(2)).code(), Code::kInvalidArgument);
    EXPECT_TRUE(world.set_timeout(milliseconds(300)).ok());
    const Status status = world.barrier();
    EXPECT_NE(status.text().find("not ended after 0.3 s"), std::string::npos) << status.to_string();
    return expect_code(Code::kTimeout, status);
  };
  run(wait_shortly, [](Communicator& world) { return expect_by_next_call(Code::kTimeout, world); });
}

INSTANTIATE_TEST_SUITE_P(Modes, Ending,
                         ::testing::Values(Mode::kThreads, Mode::kSharedMemoryThreads,
                                           Mode::kDirectThreads, Mode::kGatheringThreads),
                         [](const auto& instance) { return name(instance.param); });

}  // namespace
}  // namespace paceline::testing
