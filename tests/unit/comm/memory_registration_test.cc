#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <paceline/buffer.h>

#include "comm/arena_view.h"
#include "comm/memory_domain.h"
#include "tests/unit/comm/arena_sizes.h"

namespace paceline::testing {
namespace {

// Pages that are not a domain's.
class Pages {
 public:
  explicit Pages(std::size_t pages, int flags = MAP_PRIVATE | MAP_ANONYMOUS,
                 int protection = PROT_READ | PROT_WRITE)
      : bytes_(pages * kPage),
        data_(static_cast<std::byte*>(::mmap(nullptr, bytes_, protection, flags, -1, 0))) {}
  ~Pages() { ::munmap(data_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  std::byte* data() const { return data_; }
  std::span<std::byte> all() const { return {data_, bytes_}; }

 private:
  std::size_t bytes_;
  std::byte* data_;
};

Code code_of(MemoryDomain& domain, std::span<std::byte> memory) {
  return domain.take_over(memory).code();
}

TEST(MemoryRegistration, PeersReachItAtItsPlaceUntilItIsHandedBack) {
  MemoryDomain domain(kArena);
  const auto view = ArenaView::open(UniqueFd(::dup(domain.file().value()))).value();
  const Pages pages(6);
  std::ranges::fill(pages.all(), std::byte{3});
  const auto middle = pages.all().subspan(kPage, 4 * kPage);
  ASSERT_TRUE(domain.take_over(middle).ok());
  EXPECT_EQ(std::ranges::count(pages.all(), std::byte{3}), 6 * static_cast<long>(kPage));
  const std::uint64_t place = *domain.place_of(middle.data() + 8, 8);
  *view->at(place) = std::byte{5};
  EXPECT_EQ(middle[8], std::byte{5});
  EXPECT_TRUE(domain.place_of(middle.data(), middle.size()));
  EXPECT_FALSE(domain.place_of(middle.data(), middle.size() + 1));
  EXPECT_FALSE(domain.place_of(pages.data(), 1));
  EXPECT_FALSE(domain.place_of(pages.data() + 5 * kPage, 1));
  EXPECT_EQ(domain.use().allocated_bytes, 4 * kPage);
  ASSERT_TRUE(domain.hand_back(middle.data()).ok());
  *view->at(place) = std::byte{9};
  EXPECT_EQ(middle[8], std::byte{5});
  EXPECT_FALSE(domain.place_of(middle.data(), 1));
  EXPECT_EQ(domain.use().allocated_bytes, 0u);
  EXPECT_EQ(domain.hand_back(middle.data()).code(), Code::kInvalidArgument) << "twice";
}

TEST(MemoryRegistration, WhatIsNotItsOwnersAloneIsRefusedAndStaysAsItIs) {
  MemoryDomain domain(kArena);
  const Pages pages(3);
  EXPECT_EQ(code_of(domain, pages.all().subspan(0, 0)), Code::kInvalidArgument);
  EXPECT_EQ(code_of(domain, pages.all().subspan(1, kPage)), Code::kInvalidArgument);
  EXPECT_EQ(code_of(domain, pages.all().subspan(0, kPage + 1)), Code::kInvalidArgument);
  const Pages shared(1, MAP_SHARED | MAP_ANONYMOUS);
  EXPECT_EQ(code_of(domain, shared.all()), Code::kInvalidArgument);
  const Pages constant(1, MAP_PRIVATE | MAP_ANONYMOUS, PROT_READ);
  EXPECT_EQ(code_of(domain, constant.all()), Code::kInvalidArgument);
  auto* const program_break = static_cast<std::byte*>(::sbrk(0));
  auto* const heap = reinterpret_cast<std::byte*>(
      (reinterpret_cast<std::uintptr_t>(program_break) - kPage) / kPage * kPage);
  EXPECT_EQ(code_of(domain, {heap, kPage}), Code::kInvalidArgument);
  const auto buffer = domain.allocate(kPage).value();
  EXPECT_EQ(code_of(domain, buffer), Code::kInvalidArgument) << "it is a buffer";
  ::munmap(pages.data() + kPage, kPage);
  const Status gap = domain.take_over(pages.all());
  EXPECT_NE(gap.to_string().find("not mapped"), std::string::npos) << gap.to_string();
  EXPECT_EQ(domain.use().allocated_bytes, kPage);
}

TEST(MemoryRegistration, ItIsNeitherRegisteredTwiceNorFreedNorHandedBackWhileItIsUsed) {
  MemoryDomain domain(kArena);
  const Pages pages(2);
  ASSERT_TRUE(domain.take_over(pages.all()).ok());
  EXPECT_EQ(code_of(domain, pages.all()), Code::kInvalidArgument);
  const std::uint64_t place = *domain.place_of(pages.data(), kPage);
  EXPECT_EQ(domain.free(pages.data()).code(), Code::kInvalidArgument);
  ASSERT_TRUE(domain.retain(place));
  EXPECT_EQ(domain.hand_back(pages.data()).code(), Code::kInvalidArgument);
  domain.release(place);
  EXPECT_TRUE(domain.hand_back(pages.data()).ok());
}

TEST(MemoryRegistration, WhatIsLeftBehindIsItsOwnersAndReachedNoMore) {
  MemoryDomain domain(kArena);
  const auto view = ArenaView::open(UniqueFd(::dup(domain.file().value()))).value();
  const Pages pages(3);
  ASSERT_TRUE(domain.take_over(pages.all()).ok());
  std::ranges::fill(pages.all(), std::byte{1});
  const std::uint64_t place = *domain.place_of(pages.data(), 1);
  ASSERT_TRUE(domain.leave_behind(place + kPage, 1).ok());
  std::memset(view->at(place), 9, 3 * kPage);
  EXPECT_EQ(pages.data()[0], std::byte{9});
  EXPECT_EQ(pages.data()[kPage], std::byte{1});
  EXPECT_FALSE(domain.place_of(pages.data() + kPage, 1));
  EXPECT_TRUE(domain.place_of(pages.data(), kPage));
  ASSERT_TRUE(domain.hand_back(pages.data()).ok());
  EXPECT_EQ(pages.data()[kPage], std::byte{1});
  EXPECT_EQ(pages.data()[2 * kPage], std::byte{9});
  // Nobody gets its place again.
  std::vector<std::byte*> all;
  for (auto next = domain.allocate(kPage); next.ok() && all.size() < 8;
       next = domain.allocate(kPage))
    all.push_back(next->data());
  for (const std::byte* const one : all) EXPECT_GE(*domain.place_of(one, 1), place + 3 * kPage);
}

TEST(MemoryRegistration, WhereThereIsNoRoomNothingIsDone) {
  MemoryDomain domain(kArena);
  ASSERT_TRUE(domain.allocate(kArena - kPage).ok());
  const Pages pages(2);
  pages.data()[0] = std::byte{4};
  EXPECT_EQ(code_of(domain, pages.all()), Code::kExhausted);
  EXPECT_EQ(pages.data()[0], std::byte{4});
  EXPECT_FALSE(domain.place_of(pages.data(), 1));
}

TEST(MemoryRegistration, ARegistrationEndsWithItsObject) {
  const Pages pages(2);
  const auto is_registered = [&] {
    return MemoryDomain::of_process().place_of(pages.data(), 2 * kPage).has_value();
  };
  {
    Registration first = Registration::make(pages.all()).value();
    const Registration second = std::move(first);
    EXPECT_TRUE(is_registered());
    const std::byte before = pages.data()[0];
    const pid_t child = ::fork();
    if (child == 0) {
      pages.data()[0] = ~before;
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "a child has none";
    EXPECT_EQ(pages.data()[0], before) << "what a child writes is its own";
  }
  EXPECT_FALSE(is_registered());
}

}  // namespace
}  // namespace paceline::testing
