#include "comm/shared_segment.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace paceline::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBytes = 1 << 16;

std::string new_path() {
  static int count = 0;
  return "/dev/shm/paceline-test-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
}

// Whether `body` held in a process of its own.
template <class Body>
bool holds_in_child(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body() ? 0 : 1);
  int status = 1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

TEST(SharedSegment, IsSeenByWhoOpensItAndGoesWithItsName) {
  const std::string path = new_path();
  auto made = SharedSegment::create(path, kBytes);
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  ASSERT_EQ(made->memory().size(), kBytes);
  made->memory()[7] = std::byte{42};
  const auto opened = SharedSegment::open(path);
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->memory()[7], std::byte{42});
  EXPECT_EQ(opened->memory()[8], std::byte{0});
  made->remove_name();
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(SharedSegment::open(path).status().code(), Code::kUnavailable);
  opened->memory()[9] = std::byte{43};
  EXPECT_EQ(made->memory()[9], std::byte{43});
}

TEST(SharedSegment, LeavesNoNameBehind) {
  const std::string path = new_path();
  { const auto made = SharedSegment::create(path, kBytes); }
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(SharedSegment::create(path, std::size_t{1} << 50).status().code(), Code::kExhausted);
  EXPECT_FALSE(fs::exists(path));
}

TEST(SharedSegment, TakesNothingThatIsThereAlready) {
  const std::string path = new_path();
  const auto made = SharedSegment::create(path, kBytes);
  EXPECT_EQ(SharedSegment::create(path, kBytes).status().code(), Code::kUnavailable);
  EXPECT_EQ(SharedSegment::create("/nowhere/x", kBytes).status().code(), Code::kUnavailable);
}

TEST(SharedSegment, APlaceIsTakenUntilItsProcessEnds) {
  auto segment = SharedSegment::create_nameless(kBytes);
  ASSERT_TRUE(segment.ok());
  int told[2], go[2];
  ASSERT_EQ(::pipe(told), 0);
  ASSERT_EQ(::pipe(go), 0);
  const pid_t owner = ::fork();
  char letter = 'x';
  if (owner == 0) {
    const bool taken = segment->take_place(3).ok();
    (void)!::write(told[1], taken ? "y" : "n", 1);
    (void)!::read(go[0], &letter, 1);
    ::_exit(0);
  }
  ASSERT_EQ(::read(told[0], &letter, 1), 1);
  EXPECT_EQ(letter, 'y');
  EXPECT_TRUE(segment->is_taken_by_another(3));
  EXPECT_FALSE(segment->is_taken_by_another(2));
  EXPECT_EQ(segment->take_place(3).code(), Code::kDenied);
  ASSERT_EQ(::write(go[1], "g", 1), 1);
  ASSERT_EQ(::waitpid(owner, nullptr, 0), owner);
  EXPECT_FALSE(segment->is_taken_by_another(3));
}

TEST(SharedSegment, AForkDoesNotInheritAPlace) {
  auto segment = SharedSegment::create_nameless(kBytes);
  ASSERT_TRUE(segment->take_place(0).ok());
  EXPECT_TRUE(holds_in_child([&] { return segment->is_taken_by_another(0); }));
  EXPECT_TRUE(holds_in_child([&] { return !segment->take_place(0).ok(); }));
}

}  // namespace
}  // namespace paceline::testing
