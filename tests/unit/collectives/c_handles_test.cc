// Communicators of the C interface as handles: freed once, used by several threads, made all at
// once, and under the names of NCCL.

#include <atomic>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <paceline/paceline.h>

#include "tests/unit/collectives/ranks_in_c.h"

namespace paceline::testing {
namespace {

TEST(CHandles, ACommunicatorIsFreedOnce) {
  run_ranks_in_c(2, [](plComm_t comm, int) {
    plComm_t part = nullptr;
    ASSERT_EQ(plCommSplit(comm, 0, 0, &part, nullptr), plSuccess) << plGetLastError(comm);
    EXPECT_EQ(plCommFinalize(comm), plSuccess);
    EXPECT_EQ(plCommDestroy(comm), plSuccess);
    EXPECT_EQ(plCommDestroy(comm), plInvalidArgument);
    EXPECT_NE(std::string(plGetLastError(nullptr)).find("destroyed before"), std::string::npos);
    EXPECT_EQ(plCommAbort(comm), plInvalidArgument);
    EXPECT_EQ(plCommAbort(part), plSuccess);
    EXPECT_EQ(plCommAbort(part), plInvalidArgument);
    EXPECT_EQ(plCommDestroy(part), plInvalidArgument);
  });
}

TEST(CHandles, AGroupKeepsItsCommunicators) {
  std::latch ended(2);
  run_ranks_in_c(2, [&](plComm_t comm, int) {
    float value = 1;
    ASSERT_EQ(plGroupStart(), plSuccess);
    ASSERT_EQ(plAllReduce(&value, &value, 1, plFloat32, plSum, comm, nullptr), plSuccess);
    EXPECT_EQ(plCommDestroy(comm), plInvalidArgument);
    EXPECT_EQ(plGroupEnd(), plSuccess) << plGetLastError(nullptr);
    EXPECT_EQ(value, 2);
    ended.arrive_and_wait();  // an abort also ends an operation that only this rank has ended
    ASSERT_EQ(plGroupStart(), plSuccess);
    ASSERT_EQ(plAllReduce(&value, &value, 1, plFloat32, plSum, comm, nullptr), plSuccess);
    EXPECT_EQ(plCommAbort(comm), plSuccess);
    EXPECT_EQ(plGroupEnd(), plInvalidArgument) << "the call was dropped";
  });
}

TEST(CHandles, NamesOfNcclAreTheSame) {
  static_assert(plFloat == plFloat32 && plHalf == plFloat16 && plDouble == plFloat64);
  static_assert(plInt == plInt32 && plChar == plInt8 && plUint32 == 3);
  static_assert(plRemoteError == plPeerLost && plInvalidUsage == plMismatch);
  run_ranks_in_c(2, [](plComm_t comm, int rank) {
    void* memory = nullptr;
    ASSERT_EQ(plMemAlloc(&memory, 4096), plSuccess);
    auto* const values = static_cast<float*>(memory);
    values[0] = static_cast<float>(rank + 5);
    EXPECT_EQ(plBcast(values, 1, plFloat, 1, comm, nullptr), plSuccess);
    EXPECT_EQ(values[0], 6);
    EXPECT_EQ(plMemFree(memory), plSuccess);
    void* const pages =
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void* handle = nullptr;
    ASSERT_EQ(plCommRegister(comm, pages, 4096, &handle), plSuccess) << plGetLastError(nullptr);
    EXPECT_EQ(plCommDeregister(comm, handle), plSuccess);
    ::munmap(pages, 4096);
    EXPECT_EQ(plCommRegister(comm, pages, 4096, nullptr), plInvalidArgument);
    EXPECT_EQ(plCommFinalize(comm), plSuccess);
    EXPECT_EQ(plCommDestroy(comm), plSuccess);
  });
}

TEST(CHandles, AllRanksOfAProcessAtOnce) {
  plComm_t comms[3] = {};
  ASSERT_EQ(plCommInitAll(comms, 3, nullptr), plSuccess) << plGetLastError(nullptr);
  float values[3] = {1, 2, 3};
  ASSERT_EQ(plGroupStart(), plSuccess);
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_EQ(plAllReduce(&values[rank], &values[rank], 1, plFloat, plSum, comms[rank], nullptr),
              plSuccess);
  EXPECT_EQ(plGroupEnd(), plSuccess) << plGetLastError(nullptr);
  for (const float value : values) EXPECT_EQ(value, 6);
  int rank = -1;
  EXPECT_EQ(plCommUserRank(comms[2], &rank), plSuccess);
  EXPECT_EQ(rank, 2);
  for (plComm_t comm : comms) EXPECT_EQ(plCommDestroy(comm), plSuccess);
  const int devices[] = {0};
  EXPECT_EQ(plCommInitAll(comms, 1, devices), plInvalidArgument);
  EXPECT_EQ(plCommInitAll(comms, 0, nullptr), plInvalidArgument);
  EXPECT_EQ(plCommInitAll(nullptr, 1, nullptr), plInvalidArgument);
}

TEST(CHandles, SplitsOfSeveralThreadsRunOneAfterTheOther) {
  run_ranks_in_c(2, [](plComm_t comm, int) {
    std::vector<std::thread> threads;
    std::atomic<int> made{0};
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        plComm_t part = nullptr;
        if (plCommSplit(comm, 0, 0, &part, nullptr) != plSuccess) return;
        ++made;
        EXPECT_EQ(plCommDestroy(part), plSuccess);
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(made, 4) << plGetLastError(comm);
    EXPECT_EQ(plCommDestroy(comm), plSuccess);
  });
}

}  // namespace
}  // namespace paceline::testing
