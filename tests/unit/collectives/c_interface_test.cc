// The C interface: ranks as threads that meet by an id, every type and op, and what goes wrong.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <paceline/paceline.h>
#include <paceline/steps.h>

#include "comm/base/clock.h"
#include "tests/harness/calls_in_c.h"
#include "tests/unit/collectives/ranks_in_c.h"

namespace paceline::testing {
namespace {

TEST(CInterface, EveryOperationIsTheOneOfItsName) {
  constexpr int kRanks = 3;
  run_ranks_in_c(kRanks, [](plComm_t comm, int rank) {
    for (const OperationKind kind : kOperationKinds) {
      if (kind == OperationKind::kClose || !is_of_all(kind)) continue;
      for (std::size_t number = 0; number < 6; ++number) {
        const Call call{.kind = kind,
                        .count = number * 41,
                        .type = kDataTypes[number],
                        .op = kReduceOps[number % std::size(kReduceOps)],
                        .root = static_cast<int>(number) % kRanks,
                        .in_place = number % 2 == 0};
        MadeCall made(call, number, rank, kRanks);
        ASSERT_EQ(call_in_c(comm, call, made), plSuccess) << plGetLastError(comm);
        EXPECT_EQ(made.wrong(), "");
      }
    }
    EXPECT_EQ(plCommFinalize(comm), plSuccess) << plGetLastError(comm);
    EXPECT_EQ(plCommDestroy(comm), plSuccess);
  });
}

TEST(CInterface, MarksSteps) {
  plStepBegin();
  EXPECT_EQ(plEnterPart(plPartInput), plPartCompute);
  EXPECT_EQ(plEnterPart(plPartOther), plPartInput);
  EXPECT_EQ(plEnterPart(static_cast<plPart_t>(1)), plPartOther);  // none of the parts
  EXPECT_EQ(plEnterPart(plPartCompute), plPartCompute);
  plStepEnd(8, 1e6);
  EXPECT_EQ(plInputIsRepeated(), 0) << "nothing is ablated";
  const StepTotals totals = step_totals();
  EXPECT_EQ(totals.steps, 1u);
  EXPECT_EQ(totals.samples, 8u);
  EXPECT_EQ(totals.flop, 1e6);
}

TEST(CInterface, EveryTypeAndOpIsTheOneOfItsName) {
  constexpr int kRanks = 3;
  constexpr std::size_t kCount = 77;
  run_ranks_in_c(kRanks, [](plComm_t comm, int rank) {
    for (const DataType type : kDataTypes) {
      for (const ReduceOp op : kReduceOps) {
        if (op == ReduceOp::kPreMulSum) continue;  // made, not named
        const CallForm call{.type = type, .op = op};
        Elements elements = inputs_of(call, rank, kCount);
        ASSERT_EQ(plAllReduce(elements.data(), elements.data(), kCount, c_type(type), c_op(op),
                              comm, nullptr),
                  plSuccess)
            << plGetLastError(comm);
        EXPECT_FALSE(elements.first_other(reduced(call, kRanks, kCount)))
            << name(type) << " " << name(op);
      }
    }
    EXPECT_EQ(plCommFinalize(comm), plSuccess) << plGetLastError(comm);
    EXPECT_EQ(plCommDestroy(comm), plSuccess);
  });
}

TEST(CInterface, ASplitMakesPartsAndNothingForNoColor) {
  run_ranks_in_c(3, [](plComm_t comm, int rank) {
    plComm_t part = nullptr;
    ASSERT_EQ(plCommSplit(comm, rank == 1 ? PL_SPLIT_NOCOLOR : 4, -rank, &part, nullptr), plSuccess)
        << plGetLastError(comm);
    ASSERT_EQ(part == nullptr, rank == 1);
    if (part != nullptr) {
      int32_t values[] = {rank, 0};
      ASSERT_EQ(plCommUserRank(part, &values[1]), plSuccess);
      EXPECT_EQ(values[1], rank == 2 ? 0 : 1);
      ASSERT_EQ(plBroadcast(values, values, 1, plInt32, 0, part, nullptr), plSuccess);
      EXPECT_EQ(values[0], 2);
    }
    EXPECT_EQ(plCommDestroy(part), plSuccess);
    EXPECT_EQ(plCommSplit(comm, -2, 0, &part, nullptr), plInvalidArgument);
    EXPECT_EQ(plCommSplit(comm, 0, 0, nullptr, nullptr), plInvalidArgument);
    plConfig_t none = PL_CONFIG_INITIALIZER;
    none.size = 1;
    EXPECT_EQ(plCommSplit(comm, 0, 0, &part, &none), plInvalidArgument);
    EXPECT_EQ(plCommFinalize(comm), plSuccess) << plGetLastError(comm);
    EXPECT_EQ(plCommDestroy(comm), plSuccess);
  });
}

TEST(CInterface, ABroadcastMayBeOutOfPlace) {
  run_ranks_in_c(3, [](plComm_t comm, int rank) {
    const double sent = 10 + rank;
    double received = 0;
    ASSERT_EQ(plBroadcast(&sent, &received, 1, plFloat64, 1, comm, nullptr), plSuccess);
    EXPECT_EQ(received, 11);
    EXPECT_EQ(plCommDestroy(comm), plSuccess);
  });
}

class CInterfaceAlone : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(plCommInitFromEnvironment(&comm_, nullptr), plSuccess); }
  void TearDown() override { EXPECT_EQ(plCommDestroy(comm_), plSuccess); }

  plComm_t comm_ = nullptr;
};

TEST(CInterface, BuffersAreAllocatedReducedAndFreed) {
  constexpr std::size_t kCount = 100'000;
  run_ranks_in_c(3, [](plComm_t comm, int rank) {
    void* buffer = nullptr;
    ASSERT_EQ(plBufferAlloc(&buffer, kCount * sizeof(std::int64_t)), plSuccess);
    auto* const elements = static_cast<std::int64_t*>(buffer);
    std::fill_n(elements, kCount, rank);
    EXPECT_EQ(plAllReduce(buffer, buffer, kCount, plInt64, plSum, comm, nullptr), plSuccess);
    EXPECT_EQ(std::count(elements, elements + kCount, 0 + 1 + 2), std::ptrdiff_t{kCount});
    EXPECT_EQ(plBufferFree(elements + 1), plInvalidArgument);
    EXPECT_EQ(plBufferFree(buffer), plSuccess);
    EXPECT_EQ(plBufferFree(nullptr), plSuccess);
    EXPECT_EQ(plCommFinalize(comm), plSuccess) << plGetLastError(comm);
    EXPECT_EQ(plCommDestroy(comm), plSuccess);
  });
  EXPECT_EQ(plBufferAlloc(nullptr, 1), plInvalidArgument);
  void* buffer = &buffer;
  EXPECT_EQ(plBufferAlloc(&buffer, SIZE_MAX), plExhausted);
  EXPECT_EQ(buffer, nullptr);
}

TEST(CInterface, MemoryFromElsewhereIsRegisteredReducedAndDeregistered) {
  constexpr std::size_t kBytes = std::size_t{1} << 20, kCount = kBytes / sizeof(std::int64_t);
  run_ranks_in_c(3, [](plComm_t comm, int rank) {
    void* const memory =
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    auto* const elements = static_cast<std::int64_t*>(memory);
    std::fill_n(elements, kCount, rank);
    ASSERT_EQ(plBufferRegister(memory, kBytes), plSuccess) << plGetLastError(nullptr);
    EXPECT_EQ(plAllReduce(memory, memory, kCount, plInt64, plSum, comm, nullptr), plSuccess);
    EXPECT_EQ(plBufferDeregister(elements + 1), plInvalidArgument);
    EXPECT_EQ(plBufferDeregister(memory), plSuccess);
    EXPECT_EQ(std::count(elements, elements + kCount, 0 + 1 + 2), std::ptrdiff_t{kCount});
    EXPECT_EQ(plCommFinalize(comm), plSuccess) << plGetLastError(comm);
    EXPECT_EQ(plCommDestroy(comm), plSuccess);
    ::munmap(memory, kBytes);
  });
  EXPECT_EQ(plBufferRegister(nullptr, kBytes), plInvalidArgument);
}

TEST_F(CInterfaceAlone, AWrongArgumentIsRefusedInWords) {
  float value = 3;
  const auto all_reduce = [&](plDataType_t type, plRedOp_t op, plStream_t stream) {
    return plAllReduce(&value, &value, 1, type, op, comm_, stream);
  };
  const auto stream = reinterpret_cast<plStream_t>(&value);
  const struct {
    plResult_t result;
    std::string said;
  } rows[] = {
      {all_reduce(static_cast<plDataType_t>(10), plSum, nullptr), "unknown data type"},
      {all_reduce(plFloat32, static_cast<plRedOp_t>(7), nullptr), "unknown op"},
      {all_reduce(plFloat32, plSum, stream), "stream must be NULL"},
      {plBroadcast(&value, &value, 1, plFloat32, 1, comm_, nullptr), "root 1 is not in 0..0"},
      {plBroadcast(&value, nullptr, 1, plFloat32, 0, comm_, nullptr), "a buffer is null"},
      {plCommCount(comm_, nullptr), "is NULL"}};
  for (const auto& row : rows) EXPECT_EQ(row.result, plInvalidArgument) << row.said;
  // The texts come one at a time.
  EXPECT_EQ(all_reduce(static_cast<plDataType_t>(10), plSum, nullptr), plInvalidArgument);
  EXPECT_NE(std::string(plGetLastError(comm_)).find(rows[0].said), std::string::npos);
  EXPECT_EQ(all_reduce(plFloat32, plSum, stream), plInvalidArgument);
  EXPECT_NE(std::string(plGetLastError(comm_)).find(rows[2].said), std::string::npos);
  EXPECT_EQ(all_reduce(plFloat32, plSum, nullptr), plSuccess) << "it is still usable";
}

TEST(CInterface, WithoutACommunicatorNothingIsCalled) {
  EXPECT_EQ(plBarrier(nullptr, nullptr), plInvalidArgument);
  EXPECT_STREQ(plGetLastError(nullptr), "invalid argument: the communicator is NULL");
  EXPECT_EQ(plCommDestroy(nullptr), plSuccess);
  EXPECT_EQ(plCommInitFromEnvironment(nullptr, nullptr), plInvalidArgument);
}

// Ends the thread that serves an id: processes that a later test forks are to find one thread.
void use_up(const plUniqueId& id) {
  plComm_t comm = nullptr;
  ASSERT_EQ(plCommInitRank(&comm, 1, id, 0), plSuccess);
  EXPECT_EQ(plCommDestroy(comm), plSuccess);
}

TEST(CInterface, AnIdThatNobodyMadeIsRefused) {
  plUniqueId id;
  std::memset(&id, 7, sizeof id);
  plComm_t comm = nullptr;
  EXPECT_EQ(plCommInitRank(&comm, 2, id, 0), plInvalidArgument);
  EXPECT_EQ(comm, nullptr);
  EXPECT_NE(std::string(plGetLastError(nullptr)).find("not a unique id"), std::string::npos);
  ASSERT_EQ(plGetUniqueId(&id), plSuccess);
  EXPECT_EQ(plCommInitRank(&comm, 2, id, 2), plInvalidArgument);
  use_up(id);
}

TEST(CInterface, AConfigurationOfAnUnknownVersionIsRefused) {
  plUniqueId id;
  ASSERT_EQ(plGetUniqueId(&id), plSuccess);
  for (const std::size_t size : {std::size_t{0}, sizeof(plConfig_t) - 1, sizeof(plConfig_t) + 1}) {
    plConfig_t unknown = config();
    unknown.size = size;
    plComm_t comm = nullptr;
    EXPECT_EQ(plCommInitRankConfig(&comm, 1, id, 0, &unknown), plInvalidArgument) << size;
    EXPECT_EQ(comm, nullptr);
  }
  use_up(id);
}

TEST(CInterface, AnUnknownDeterminismIsRefused) {
  for (const std::int64_t determinism : {-1, 0, 1, 2, 3, 4}) {
    plConfig_t chosen = config();
    chosen.determinism = determinism;
    plComm_t comm = nullptr;
    const bool known =
        determinism >= plDeterminismDefault && determinism <= plDeterminismPlacementStable;
    EXPECT_EQ(plCommInitFromEnvironment(&comm, &chosen), known ? plSuccess : plInvalidArgument)
        << determinism;
    EXPECT_EQ(plCommDestroy(comm), plSuccess);
  }
}

TEST(CInterface, ADeadlineThatNobodyCanMeanIsRefused) {
  for (const std::int64_t milliseconds :
       {std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()}) {
    plConfig_t odd = config();
    odd.timeoutMs = milliseconds;
    plComm_t comm = nullptr;
    EXPECT_EQ(plCommInitFromEnvironment(&comm, &odd), plInvalidArgument) << milliseconds;
  }
}

TEST(CInterface, AbortEndsACallOfAnotherThread) {
  plResult_t other = plSuccess;
  std::atomic<bool> aborted{false};
  run_ranks_in_c(2, [&](plComm_t comm, int rank) {
    if (rank == 0) {
      std::atomic<bool> calls{false};
      std::thread caller([&] {
        calls.store(true);
        calls.notify_all();
        EXPECT_EQ(plBarrier(comm, nullptr), plCancelled);
      });
      calls.wait(false);
      const SystemClock clock;  // time to get inside
      const TimePoint until = clock.now() + std::chrono::milliseconds(100);
      while (clock.now() < until) std::this_thread::yield();
      plResult_t error = plInternalError;
      EXPECT_EQ(plCommGetAsyncError(comm, &error), plSuccess);
      EXPECT_EQ(error, plSuccess);
      EXPECT_EQ(plCommAbort(comm), plSuccess);
      caller.join();
      aborted.store(true);
      aborted.notify_all();
    } else {
      aborted.wait(false);
      // The other has entered this one, so it may succeed.
      (void)plBarrier(comm, nullptr);
      other = plBarrier(comm, nullptr);
      EXPECT_EQ(plCommDestroy(comm), plSuccess);
    }
  });
  EXPECT_EQ(other, plCancelled) << "the other rank hears of it";
}

TEST(CInterface, CommunicatorsLeaveNothingBehind) {
  const auto descriptors = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const auto meet = [] {
    run_ranks_in_c(2, [](plComm_t joined, int) {
      EXPECT_EQ(plBarrier(joined, nullptr), plSuccess);
      EXPECT_EQ(plCommDestroy(joined), plSuccess);
    });
  };
  meet();  // the arena of a process stays
  const auto before = descriptors();
  plComm_t comm = nullptr;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(plCommInitFromEnvironment(&comm, nullptr), plSuccess);
    ASSERT_EQ(plCommDestroy(comm), plSuccess);
  }
  for (int i = 0; i < 10; ++i) meet();
  EXPECT_EQ(descriptors(), before);
}

TEST(CInterface, SaysItsVersion) {
  int version = 0;
  EXPECT_EQ(plGetVersion(&version), plSuccess);
  EXPECT_GE(version, 100);
  EXPECT_STREQ(plGetErrorString(plMismatch), "mismatch");
}

}  // namespace
}  // namespace paceline::testing
