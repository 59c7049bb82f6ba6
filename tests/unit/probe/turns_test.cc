#include "launcher/tools/measure/probe/loop/turns.h"

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "comm/base/unique_fd.h"

namespace paceline::probe {
namespace {

TEST(TurnOrder, EveryNumberIsSomebodysOnce) {
  constexpr int kContenders = 3, kRounds = 4;
  constexpr std::size_t kSizes = 2;
  std::vector<int> whose(kSizes * (kRounds + 1) * kContenders, -1);
  for (int contender = 0; contender < kContenders; ++contender) {
    const TurnPlace place{.contender = contender, .contenders = kContenders, .rounds = kRounds};
    for (std::size_t size = 0; size < kSizes; ++size) {
      for (int round = kPreparation; round < kRounds; ++round) {
        const std::uint32_t turn = turn_of(place, size, round);
        ASSERT_LT(turn, whose.size());
        EXPECT_EQ(whose[turn], -1);
        whose[turn] = contender;
      }
    }
  }
  EXPECT_EQ(std::vector(whose.begin(), whose.begin() + 6), (std::vector{0, 1, 2, 1, 2, 0}));
  for (std::size_t turn = 1; turn < whose.size(); ++turn) EXPECT_NE(whose[turn], whose[turn - 1]);
}

TEST(Turns, GoOnInTheirOrder) {
  constexpr int kContenders = 3, kRounds = 20;
  const UniqueFd memory(::memfd_create("turns", MFD_CLOEXEC));
  const std::string path = "/proc/self/fd/" + std::to_string(memory.get());
  const SystemClock clock;
  // Whose turn it was. Atomic for the thread sanitizer, which does not know that the word in each
  // thread's own mapping is the same.
  std::array<std::atomic<int>, std::size_t{kContenders * (kRounds + 1)}> order{};
  std::atomic<std::size_t> taken{0};
  std::vector<std::thread> threads;
  for (int contender = 0; contender < kContenders; ++contender) {
    threads.emplace_back([&, contender] {
      const TurnPlace place{.contender = contender, .contenders = kContenders, .rounds = kRounds};
      Turns turns = Turns::open(path, place, clock).value();
      for (int round = kPreparation; round < kRounds; ++round) {
        ASSERT_TRUE(turns.await(0, round).ok());
        order[taken++] = contender;
        turns.pass_on();
      }
      ASSERT_TRUE(turns.await_end(1).ok());
      EXPECT_EQ(taken, order.size()) << "all have had theirs";
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t at = 0; at < order.size(); ++at) {
    const std::size_t lap = at / kContenders;
    EXPECT_EQ(order[at], static_cast<int>((at + lap) % kContenders));
  }
}

}  // namespace
}  // namespace paceline::probe
