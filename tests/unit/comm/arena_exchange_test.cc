#include "comm/arena_exchange.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/unit/comm/served_store.h"

namespace paceline::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

// Ranks are threads, each with a domain of its own.
class ArenaExchange : public ::testing::Test {
 protected:
  static constexpr int kRanks = 4;

  ArenaExchange() {
    fs::create_directories(folder_);
    for (int rank = 0; rank < kRanks; ++rank)
      domains_.push_back(std::make_unique<MemoryDomain>(std::size_t{64} << 20));
  }
  ~ArenaExchange() override { fs::remove_all(folder_); }

  // What each has got. `absent`: a rank that ends when it has heard where rank 0 is.
  std::vector<HostArenas> exchange(const std::string& folder, Duration patience = seconds(30),
                                   int absent = -1) {
    ++epoch_;
    std::vector<HostArenas> found(kRanks);
    std::vector<std::unique_ptr<StoreClient>> clients;  // what they set is there until all have it
    for (int rank = 0; rank < kRanks; ++rank) clients.push_back(store_.client());
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < kRanks; ++rank) {
      ranks.emplace_back([&, rank] {
        Group group{.name = "test", .epoch = epoch_, .rank = rank};
        group.members.assign(kRanks, {.host = "h"});
        const auto place = static_cast<std::size_t>(rank);
        StoreExchange through(*clients[place], group);
        const Deadline deadline = Deadline::after(clock_, patience);
        if (rank == absent) {
          EXPECT_TRUE(through.all({.key = "arenas"}, "", deadline).ok());
          return;
        }
        found[place] =
            exchange_arenas(through, group, *domains_[place],
                            {.folder = folder, .prefix = "paceline-x-", .kick = kick_of(rank)},
                            clock_, deadline)
                .value();
      });
    }
    for (std::thread& rank : ranks) rank.join();
    EXPECT_TRUE(fs::is_empty(folder_)) << "a socket is left";
    return found;
  }

  const SystemClock clock_;
  const fs::path folder_ =
      fs::path(::testing::TempDir()) / ("paceline_arenas_" + std::to_string(::getpid()));
  ServedStore store_{StoreSocket::kUnix};
  std::vector<std::unique_ptr<MemoryDomain>> domains_;
  std::uint32_t epoch_ = 0;
  std::vector<UniqueFd> kicks_;  // by rank, if they give each other these, too

 private:
  std::optional<int> kick_of(int rank) const {
    if (kicks_.empty()) return std::nullopt;
    return kicks_[static_cast<std::size_t>(rank)].get();
  }
};

TEST_F(ArenaExchange, EverybodyReachesEverybody) {
  const auto found = exchange(folder_);
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    ASSERT_EQ(found[rank].views.size(), std::size_t{kRanks}) << found[rank].why_not;
    const auto memory = domains_[rank]->allocate(1).value();
    const std::uint64_t place = *domains_[rank]->place_of(memory.data(), 1);
    for (const HostArenas& other : found) {
      *other.views[rank]->at(place) = static_cast<std::byte>(rank + 1);
      EXPECT_EQ(memory[0], static_cast<std::byte>(rank + 1));
      memory[0] = std::byte{0};
    }
  }
}

TEST_F(ArenaExchange, WhereThereIsNoSocketNobodyHasAny) {
  const std::string missing = (folder_ / "missing").string();
  const std::string too_long = folder_.string() + "/" + std::string(120, 'x');
  for (const std::string& folder : {missing, too_long}) {
    for (const HostArenas& one : exchange(folder)) {
      EXPECT_TRUE(one.views.empty());
      EXPECT_NE(one.why_not, "");
    }
  }
}

TEST_F(ArenaExchange, WhatWakesEachGoesAlong) {
  for (int rank = 0; rank < kRanks; ++rank)
    kicks_.emplace_back(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const auto found = exchange(folder_);
  for (std::size_t of = 0; of < kRanks; ++of) {
    ASSERT_EQ(found[of].kicks.size(), std::size_t{kRanks}) << found[of].why_not;
    EXPECT_EQ(found[of].views.size(), std::size_t{kRanks});
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      const std::uint64_t word = of + 1;
      EXPECT_EQ(::write(found[of].kicks[rank].get(), &word, sizeof word), 8);
      std::uint64_t came = 0;
      EXPECT_EQ(::read(kicks_[rank].get(), &came, sizeof came), 8);
      EXPECT_EQ(came, word);
    }
  }
}

TEST_F(ArenaExchange, WhoDoesNotComeIsNotWaitedForBeyondTheDeadline) {
  const auto found = exchange(folder_, seconds(1), 2);
  for (std::size_t rank = 0; rank < kRanks; ++rank) EXPECT_TRUE(found[rank].views.empty());
  EXPECT_NE(found[0].why_not.find("before the timeout"), std::string::npos) << found[0].why_not;
}

}  // namespace
}  // namespace paceline::testing
