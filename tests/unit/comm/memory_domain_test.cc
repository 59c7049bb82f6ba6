#include "comm/memory_domain.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <paceline/buffer.h>

#include "comm/arena_view.h"
#include "comm/base/random.h"
#include "tests/unit/comm/arena_sizes.h"

namespace paceline::testing {
namespace {

constexpr std::size_t kHuge = MemoryDomain::kHugePage;

std::shared_ptr<const ArenaView> view_of(MemoryDomain& domain) {
  return ArenaView::open(UniqueFd(::dup(domain.file().value()))).value();
}

TEST(MemoryDomain, MemoryIsAlignedThereAndReusedOnceItIsFreed) {
  MemoryDomain domain(kArena);
  const auto small = domain.allocate(1).value();
  const auto large = domain.allocate(kHuge + 1).value();
  EXPECT_EQ(small.size(), 1u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(small.data()) % kPage, 0u);
  EXPECT_EQ(*domain.place_of(large.data(), large.size()) % kHuge, 0u);
  std::ranges::fill(large, std::byte{7});
  EXPECT_EQ(domain.use().allocated_bytes, kHuge + 2 * kPage);
  ASSERT_TRUE(domain.free(large.data()).ok());
  EXPECT_EQ(domain.use().kept_bytes, kHuge + kPage);
  EXPECT_EQ(domain.allocate(kHuge).value().data(), large.data());
}

TEST(MemoryDomain, WhatHasNoRoomIsRefusedAndNothingIsLost) {
  MemoryDomain domain(kArena);
  EXPECT_EQ(domain.allocate(kArena + 1).status().code(), Code::kExhausted);
  EXPECT_EQ(domain.allocate(SIZE_MAX).status().code(), Code::kExhausted);
  const auto all = domain.allocate(kArena).value();
  EXPECT_EQ(domain.allocate(1).status().code(), Code::kExhausted);
  ASSERT_TRUE(domain.free(all.data()).ok());
  EXPECT_TRUE(domain.allocate(kArena).ok());
}

TEST(MemoryDomain, OnlyWhatIsAllocatedIsFreed) {
  MemoryDomain domain(kArena);
  int elsewhere = 0;
  EXPECT_EQ(domain.free(&elsewhere).code(), Code::kInvalidArgument);
  const auto memory = domain.allocate(2 * kPage).value();
  EXPECT_EQ(domain.free(memory.data() + kPage).code(), Code::kInvalidArgument);
  EXPECT_EQ(domain.free(memory.data() + kArena).code(), Code::kInvalidArgument);
  EXPECT_TRUE(domain.free(memory.data()).ok());
  EXPECT_EQ(domain.free(memory.data()).code(), Code::kInvalidArgument) << "twice";
}

TEST(MemoryDomain, WhatAnOperationUsesIsNotFreed) {
  MemoryDomain domain(kArena);
  const auto memory = domain.allocate(3 * kPage).value();
  const std::uint64_t place = *domain.place_of(memory.data() + kPage, kPage);
  ASSERT_TRUE(domain.retain(place));
  ASSERT_TRUE(domain.retain(place));
  EXPECT_EQ(domain.free(memory.data()).code(), Code::kInvalidArgument);
  domain.release(place);
  domain.release(place);
  EXPECT_TRUE(domain.free(memory.data()).ok());
  EXPECT_FALSE(domain.retain(place));
}

TEST(MemoryDomain, OthersSeeItWhereItsPlaceIs) {
  MemoryDomain domain(kArena);
  const auto view = view_of(domain);
  EXPECT_EQ(view_of(domain), view) << "mapped once";
  const auto memory = domain.allocate(kPage).value();
  const std::uint64_t place = *domain.place_of(memory.data() + 8, 8);
  ASSERT_TRUE(view->has(place, 8));
  EXPECT_FALSE(view->has(kArena - 4, 8));
  EXPECT_FALSE(view->has(UINT64_MAX, 8));
  EXPECT_NE(view->at(place), memory.data() + 8);
  *view->at(place) = std::byte{5};
  EXPECT_EQ(memory[8], std::byte{5});
  EXPECT_FALSE(domain.place_of(memory.data(), kArena + 1));
  int elsewhere = 0;
  EXPECT_FALSE(domain.place_of(&elsewhere, sizeof elsewhere));
}

TEST(MemoryDomain, WhatIsLeftBehindKeepsItsContentsAndIsReachedNoMore) {
  MemoryDomain domain(kArena);
  const auto view = view_of(domain);
  const auto memory = domain.allocate(4 * kPage).value();
  std::ranges::fill(memory, std::byte{1});
  // Of two pages in the middle, in part.
  const std::uint64_t place = *domain.place_of(memory.data(), 1);
  ASSERT_TRUE(domain.leave_behind(place + kPage + 100, kPage).ok());
  std::memset(view->at(place), 9, 4 * kPage);
  EXPECT_EQ(memory[kPage - 1], std::byte{9});
  EXPECT_EQ(memory[kPage], std::byte{1});
  EXPECT_EQ(memory[3 * kPage - 1], std::byte{1});
  EXPECT_EQ(memory[3 * kPage], std::byte{9});
  memory[kPage] = std::byte{2};
  EXPECT_EQ(*view->at(place + kPage), std::byte{9});
  EXPECT_TRUE(domain.place_of(memory.data(), kPage));
  EXPECT_FALSE(domain.place_of(memory.data(), kPage + 1));
  // Nobody gets it again.
  ASSERT_TRUE(domain.free(memory.data()).ok());
  std::vector<std::byte*> all;
  for (auto next = domain.allocate(4 * kPage); next.ok(); next = domain.allocate(4 * kPage))
    all.push_back(next->data());
  EXPECT_EQ(all.size(), kArena / kPage / 4 - 1);
  EXPECT_EQ(std::ranges::count(all, memory.data()), 0);
}

// Random sizes, each with a pattern of its own that nobody else may touch.
TEST(MemoryDomain, TenThousandAllocationsAndFrees) {
  MemoryDomain domain(4 * kArena);
  Random random(1);
  std::map<std::byte*, std::pair<std::size_t, std::byte>> live;
  const auto is_intact = [](const auto& one) {
    const auto& [bytes, pattern] = one.second;
    return one.first[0] == pattern && one.first[bytes / 2] == pattern &&
           one.first[bytes - 1] == pattern;
  };
  for (int i = 0; i < 10'000; ++i) {
    if (live.size() > 40 || (!live.empty() && random.chance(0.45))) {
      const auto one =
          std::next(live.begin(), static_cast<std::ptrdiff_t>(random.below(live.size())));
      ASSERT_TRUE(is_intact(*one)) << i;
      ASSERT_TRUE(domain.free(one->first).ok());
      live.erase(one);
      continue;
    }
    const std::size_t bytes = 1 + random.below(std::uint64_t{1} << random.below(23));
    const auto pattern = static_cast<std::byte>(i);
    const auto memory = domain.allocate(bytes).value();
    memory[0] = memory[bytes / 2] = memory[bytes - 1] = pattern;
    live.emplace(memory.data(), std::pair(bytes, pattern));
  }
  EXPECT_TRUE(std::ranges::all_of(live, is_intact));
  for (const auto& [memory, what] : live) EXPECT_TRUE(domain.free(memory).ok());
  EXPECT_EQ(domain.use().allocated_bytes, 0u);
  EXPECT_TRUE(domain.allocate(4 * kArena).ok()) << "all is in one piece again";
}

TEST(MemoryDomain, AForkedChildHasNone) {
  const Buffer buffer = Buffer::allocate(100).value();
  const pid_t child = ::fork();
  if (child == 0) {
    const Status refused = Buffer::allocate(100).status();
    ::_exit(refused.code() == Code::kInvalidArgument ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// True if a forked child that runs `body` ends with true.
bool child_does(const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body() ? 0 : 1);
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(MemoryDomain, AChildHasACopyAndItsChildrenHaveItsOwn) {
  const Buffer buffer = Buffer::allocate(3 * kPage).value();
  const std::span<int> numbers = buffer.as<int>();
  std::ranges::fill(numbers, 1);
  const auto are_all = [&](int value) {
    return std::ranges::all_of(numbers, [=](int one) { return one == value; });
  };
  EXPECT_TRUE(child_does([&] {
    if (!are_all(1)) return false;
    std::ranges::fill(numbers, 2);
    return child_does([&] { return are_all(2); }) && are_all(2);
  }));
  EXPECT_TRUE(are_all(1));
}

// As after an operation that failed while a peer wrote to some of the buffer.
TEST(MemoryDomain, AChildHasWhatLiesBesidePagesThatWereLeftBehind) {
  MemoryDomain& domain = MemoryDomain::of_process();
  const Buffer buffer = Buffer::allocate(5 * kPage).value();
  const std::span<int> numbers = buffer.as<int>();
  std::ranges::fill(numbers, 7);
  const std::uint64_t place = *domain.place_of(buffer.data(), buffer.size());
  for (const std::size_t page : {1u, 3u})
    ASSERT_TRUE(domain.leave_behind(place + page * kPage, 100).ok());
  EXPECT_TRUE(
      child_does([&] { return std::ranges::all_of(numbers, [](int one) { return one == 7; }); }));
}

TEST(Buffers, LieInContainersAndMove) {
  const std::size_t before = MemoryDomain::of_process().use().allocated_bytes;
  {
    std::vector<float, BufferAllocator<float>> numbers(1000, 1.5f);
    numbers.resize(5000, 2.5f);
    EXPECT_TRUE(MemoryDomain::of_process().place_of(numbers.data(), 4 * numbers.size()));
    EXPECT_EQ(numbers[999], 1.5f);
    Buffer first = Buffer::allocate(4096).value();
    first.as<int>()[1023] = 3;
    Buffer second = std::move(first);
    EXPECT_EQ(first.data(), nullptr);
    EXPECT_EQ(second.as<int>()[1023], 3);
    second = Buffer();
  }
  EXPECT_EQ(MemoryDomain::of_process().use().allocated_bytes, before);
}

}  // namespace
}  // namespace paceline::testing
