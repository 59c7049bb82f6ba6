#include "comm/base/unique_fd.h"

#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>

namespace paceline {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }
int open_something() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

TEST(UniqueFd, HoldsNothingAtFirst) {
  const UniqueFd none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.get(), -1);
  EXPECT_FALSE(UniqueFd(-1)) << "what a failed open() returned";
}

TEST(UniqueFd, ClosesItself) {
  const int fd = open_something();
  {
    const UniqueFd owner(fd);
    EXPECT_TRUE(owner);
    EXPECT_TRUE(is_open(fd));
  }
  EXPECT_FALSE(is_open(fd));
}

TEST(UniqueFd, MovingPassesItOn) {
  UniqueFd first(open_something());
  const int fd = first.get();
  UniqueFd second(std::move(first));
  EXPECT_FALSE(first);
  EXPECT_EQ(second.get(), fd);
  UniqueFd third(open_something());
  const int replaced = third.get();
  third = std::move(second);
  EXPECT_EQ(third.get(), fd);
  EXPECT_FALSE(is_open(replaced));
  EXPECT_TRUE(is_open(fd));
}

TEST(UniqueFd, SurvivesAMoveOntoItself) {
  UniqueFd owner(open_something());
  UniqueFd& alias = owner;
  owner = std::move(alias);
  EXPECT_TRUE(owner);
  EXPECT_TRUE(is_open(owner.get()));
}

TEST(UniqueFd, LetsGoWithoutClosing) {
  UniqueFd owner(open_something());
  const int fd = owner.release();
  EXPECT_FALSE(owner);
  ASSERT_TRUE(is_open(fd));
  owner.reset(fd);
  EXPECT_EQ(owner.get(), fd);
  owner.reset();
  EXPECT_FALSE(is_open(fd));
}

}  // namespace
}  // namespace paceline
