// Groups of calls in C: made when the group ends, all of them or, where one is wrong, none.

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <paceline/paceline.h>

namespace paceline::testing {
namespace {

constexpr int kGroupRanks = 3;

// Runs `body` as each rank of two worlds, in threads.
void run_ranks_of_two(const std::function<void(plComm_t one, plComm_t other, int rank)>& body) {
  plUniqueId one_id, other_id;
  ASSERT_EQ(plGetUniqueId(&one_id), plSuccess);
  ASSERT_EQ(plGetUniqueId(&other_id), plSuccess);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kGroupRanks; ++rank) {
    threads.emplace_back([&, rank] {
      plConfig_t config = PL_CONFIG_INITIALIZER;
      config.timeoutMs = 30'000;
      plComm_t one = nullptr, other = nullptr;
      ASSERT_EQ(plCommInitRankConfig(&one, kGroupRanks, one_id, rank, &config), plSuccess);
      ASSERT_EQ(plCommInitRankConfig(&other, kGroupRanks, other_id, rank, &config), plSuccess);
      body(one, other, rank);
      EXPECT_EQ(plCommDestroy(one), plSuccess);
      EXPECT_EQ(plCommDestroy(other), plSuccess);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(CInterfaceGroup, MessagesAndOperationsOfTwoCommunicatorsGoTogether) {
  run_ranks_of_two([](plComm_t one, plComm_t other, int rank) {
    const int next = (rank + 1) % kGroupRanks, before = (rank + kGroupRanks - 1) % kGroupRanks;
    const std::array<std::int32_t, 2> mine = {rank, 10 + rank};
    std::array<std::int32_t, 2> received{}, sums{};
    std::array<std::int64_t, 1> root_of_one = {rank == 1 ? 41 : 0}, other_sum = {5};
    std::array<std::int32_t, kGroupRanks> gathered{};
    EXPECT_EQ(plGroupStart(), plSuccess);
    // As each comes: a rank may well call its sends first, and only then its receives.
    EXPECT_EQ(plSend(&mine[0], 1, plInt32, next, one, nullptr), plSuccess);
    EXPECT_EQ(plAllReduce(mine.data(), sums.data(), 2, plInt32, plSum, one, nullptr), plSuccess);
    EXPECT_EQ(plSend(&mine[1], 1, plInt32, next, one, nullptr), plSuccess);
    EXPECT_EQ(plGroupStart(), plSuccess);
    EXPECT_EQ(plAllReduce(other_sum.data(), other_sum.data(), 1, plInt64, plSum, other, nullptr),
              plSuccess);
    EXPECT_EQ(plGroupEnd(), plSuccess);
    EXPECT_EQ(other_sum[0], 5) << "an inner group ended the outer one";
    EXPECT_EQ(plRecv(received.data(), 1, plInt32, before, one, nullptr), plSuccess);
    EXPECT_EQ(plRecv(&received[1], 1, plInt32, before, one, nullptr), plSuccess);
    EXPECT_EQ(plBroadcast(root_of_one.data(), root_of_one.data(), 1, plInt64, 1, one, nullptr),
              plSuccess);
    EXPECT_EQ(plAllGather(mine.data(), gathered.data(), 1, plInt32, other, nullptr), plSuccess);
    ASSERT_EQ(plGroupEnd(), plSuccess) << plGetLastError(one) << plGetLastError(other);
    EXPECT_EQ(received, (std::array<std::int32_t, 2>{before, 10 + before}));
    EXPECT_EQ(sums, (std::array<std::int32_t, 2>{3, 33}));
    EXPECT_EQ(root_of_one[0], 41);
    EXPECT_EQ(other_sum[0], 15);
    EXPECT_EQ(gathered, (std::array<std::int32_t, kGroupRanks>{0, 1, 2}));
    EXPECT_EQ(plCommFinalize(one), plSuccess) << plGetLastError(one);
    EXPECT_EQ(plCommFinalize(other), plSuccess) << plGetLastError(other);
  });
}

TEST(CInterfaceGroup, RunsInTheBackground) {
  run_ranks_of_two([](plComm_t one, plComm_t other, int rank) {
    std::vector<float> first(1000, 1.0f), second(100, 2.0f);
    std::int32_t received = -1;
    plWork_t work = nullptr, second_work = nullptr;
    EXPECT_EQ(plGroupStart(), plSuccess);
    EXPECT_EQ(plAllReduce(first.data(), first.data(), 1000, plFloat32, plSum, one, nullptr),
              plSuccess);
    EXPECT_EQ(plAllReduce(second.data(), second.data(), 100, plFloat32, plMax, other, nullptr),
              plSuccess);
    EXPECT_EQ(plSend(&rank, 1, plInt32, (rank + 1) % kGroupRanks, one, nullptr), plSuccess);
    EXPECT_EQ(plRecv(&received, 1, plInt32, (rank + kGroupRanks - 1) % kGroupRanks, one, nullptr),
              plSuccess);
    ASSERT_EQ(plGroupEndAsync(&work), plSuccess);
    // Nothing is left of the group, so another one begins.
    EXPECT_EQ(plGroupStart(), plSuccess);
    EXPECT_EQ(plBarrier(other, nullptr), plSuccess);
    ASSERT_EQ(plGroupEndAsync(&second_work), plSuccess);
    EXPECT_EQ(plWorkWaitOn(work, nullptr), plSuccess);
    int ended = 0;
    EXPECT_EQ(plWorkTest(work, &ended), plSuccess);
    EXPECT_EQ(ended, 1) << "host memory has no stream to wait for";
    EXPECT_EQ(plWorkWait(work), plSuccess);
    EXPECT_EQ(plWorkWait(second_work), plSuccess);
    EXPECT_EQ(first, std::vector<float>(1000, kGroupRanks));
    EXPECT_EQ(second, std::vector<float>(100, 2.0f));
    EXPECT_EQ(received, (rank + kGroupRanks - 1) % kGroupRanks);
  });
}

TEST(CInterfaceGroup, WrongUsesOfWorkAreRefused) {
  EXPECT_EQ(plWorkWait(nullptr), plInvalidArgument);
  EXPECT_STREQ(plGetLastError(nullptr), "invalid argument: the work is NULL");
  int ended = 0;
  EXPECT_EQ(plWorkTest(nullptr, &ended), plInvalidArgument);
  EXPECT_EQ(plWorkWaitOn(nullptr, nullptr), plInvalidArgument);
  plWork_t work = nullptr;
  EXPECT_EQ(plGroupEndAsync(&work), plInvalidArgument);
  EXPECT_EQ(work, nullptr);
  EXPECT_EQ(plGroupStart(), plSuccess);
  EXPECT_EQ(plGroupEndAsync(nullptr), plInvalidArgument);
  EXPECT_EQ(plGroupEnd(), plInvalidArgument) << "that group has ended";
  EXPECT_EQ(plGroupStart(), plSuccess);
  EXPECT_EQ(plGroupStart(), plSuccess);
  EXPECT_EQ(plGroupEndAsync(&work), plInvalidArgument) << "an inner group";
  EXPECT_EQ(plGroupEnd(), plInvalidArgument) << "the outer one has been refused";
  EXPECT_EQ(plGroupStart(), plSuccess);
  ASSERT_EQ(plGroupEndAsync(&work), plSuccess) << "a group without calls";
  EXPECT_EQ(plWorkWait(work), plSuccess);
}

TEST(CInterfaceGroup, NoneOfItIsMadeWhereACallIsWrong) {
  run_ranks_of_two([](plComm_t one, plComm_t, int rank) {
    std::int32_t value = rank;
    plStream_t stream = reinterpret_cast<plStream_t>(&value);
    EXPECT_EQ(plGroupStart(), plSuccess);
    EXPECT_EQ(plAllReduce(&value, &value, 1, plInt32, plSum, one, nullptr), plSuccess);
    EXPECT_EQ(plAllReduce(&value, &value, 1, plInt32, plSum, nullptr, nullptr), plInvalidArgument);
    EXPECT_EQ(plSend(&value, 1, plInt32, 0, one, stream), plInvalidArgument);
    EXPECT_EQ(plGroupEnd(), plInvalidArgument);
    EXPECT_EQ(value, rank);
    // The next one knows nothing of it.
    EXPECT_EQ(plGroupStart(), plSuccess);
    EXPECT_EQ(plAllReduce(&value, &value, 1, plInt32, plSum, one, nullptr), plSuccess);
    EXPECT_EQ(plGroupEnd(), plSuccess);
    EXPECT_EQ(value, 3);
    EXPECT_EQ(plCommFinalize(one), plSuccess) << plGetLastError(one);
  });
}

// What is found out only when it is made keeps the others from nothing.
TEST(CInterfaceGroup, SaysTheFirstErrorOfItsCalls) {
  run_ranks_of_two([](plComm_t one, plComm_t other, int rank) {
    std::int32_t value = rank;
    EXPECT_EQ(plGroupStart(), plSuccess);
    EXPECT_EQ(plBroadcast(&value, &value, 1, plInt32, kGroupRanks, one, nullptr), plSuccess);
    EXPECT_EQ(plAllReduce(&value, &value, 1, plInt32, plSum, other, nullptr), plSuccess);
    EXPECT_EQ(plGroupEnd(), plInvalidArgument);
    EXPECT_NE(std::string(plGetLastError(one)).find("root 3"), std::string::npos);
    EXPECT_EQ(std::string(plGetLastError(other)), "");
    EXPECT_EQ(value, 3);
    EXPECT_EQ(plCommFinalize(one), plSuccess) << plGetLastError(one);
    EXPECT_EQ(plCommFinalize(other), plSuccess) << plGetLastError(other);
  });
}

TEST(CInterfaceGroup, EndsOnlyWhatHasBegun) {
  EXPECT_EQ(plGroupEnd(), plInvalidArgument);
  EXPECT_NE(std::string(plGetLastError(nullptr)), "");
  EXPECT_EQ(plGroupStart(), plSuccess);
  EXPECT_EQ(plGroupEnd(), plSuccess);
  EXPECT_EQ(plGroupEnd(), plInvalidArgument);
}

}  // namespace
}  // namespace paceline::testing
