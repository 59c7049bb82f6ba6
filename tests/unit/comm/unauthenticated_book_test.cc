#include "comm/unauthenticated_book.h"

#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::testing {
namespace {

using std::chrono::milliseconds;
using Book = UnauthenticatedBook;

constexpr Duration kJustBefore = milliseconds(1);

class UnauthenticatedBookTest : public ::testing::Test {
 protected:
  std::vector<Book::Id> admit(int count) {
    std::vector<Book::Id> ids;
    for (int i = 0; i < count; ++i) ids.push_back(book_.admit(now_));
    return ids;
  }
  Duration wakes_after(bool more_wait) const { return book_.wake_at(more_wait) - now_; }

  Book book_{3};
  TimePoint now_ = TimePoint() + std::chrono::hours(1);
};

TEST_F(UnauthenticatedBookTest, AnEmptyBookAcceptsAndSleeps) {
  EXPECT_TRUE(book_.may_accept(now_));
  EXPECT_FALSE(book_.is_full(now_));
  EXPECT_EQ(book_.open(), 0u);
  EXPECT_EQ(book_.gives_way(now_), std::nullopt);
  EXPECT_EQ(book_.late(now_), std::nullopt);
  EXPECT_EQ(book_.wake_at(false), TimePoint::max());
  EXPECT_LE(book_.wake_at(true), now_);
}

TEST_F(UnauthenticatedBookTest, IdsDiffer) {
  const auto first = admit(1)[0];
  book_.authenticated(first);
  EXPECT_NE(admit(1)[0], first);
}

TEST_F(UnauthenticatedBookTest, AnAuthenticatedConnectionFreesItsPlaceAtOnce) {
  const auto ids = admit(3);
  EXPECT_TRUE(book_.is_full(now_));
  EXPECT_FALSE(book_.may_accept(now_));
  book_.authenticated(ids[1]);
  EXPECT_FALSE(book_.is_full(now_));
  EXPECT_TRUE(book_.may_accept(now_));
  EXPECT_EQ(book_.open(), 2u);
}

TEST_F(UnauthenticatedBookTest, ARefusedConnectionKeepsItsPlaceForTheMinTime) {
  for (const Book::Id id : admit(3)) book_.refused(id);
  EXPECT_EQ(book_.open(), 0u);
  now_ += Book::kMinTime - kJustBefore;
  EXPECT_FALSE(book_.may_accept(now_));
  EXPECT_EQ(wakes_after(true), kJustBefore);
  now_ += kJustBefore;
  EXPECT_TRUE(book_.may_accept(now_));
  EXPECT_FALSE(book_.is_full(now_));
  EXPECT_EQ(book_.wake_at(false), TimePoint::max());
}

TEST_F(UnauthenticatedBookTest, TheOldestGivesWayAfterTheMinTime) {
  const auto oldest = admit(1)[0];
  now_ += kJustBefore;
  admit(2);
  EXPECT_EQ(wakes_after(true), Book::kMinTime - kJustBefore);
  now_ += Book::kMinTime - 2 * kJustBefore;
  EXPECT_FALSE(book_.may_accept(now_));
  EXPECT_EQ(book_.gives_way(now_), std::nullopt);
  now_ += kJustBefore;
  EXPECT_TRUE(book_.may_accept(now_));
  EXPECT_TRUE(book_.is_full(now_));
  EXPECT_EQ(book_.gives_way(now_), oldest);
  book_.refused(oldest);
  EXPECT_FALSE(book_.is_full(now_));
  EXPECT_EQ(book_.gives_way(now_), std::nullopt) << "the others are younger";
}

TEST_F(UnauthenticatedBookTest, ARefusedConnectionGivesWayBeforeAnOlderOpenOne) {
  admit(2);
  book_.refused(admit(1)[0]);
  now_ += Book::kMinTime;
  EXPECT_TRUE(book_.may_accept(now_));
  EXPECT_FALSE(book_.is_full(now_)) << "a place is free, so nothing has to be closed";
  EXPECT_EQ(book_.open(), 2u);
}

TEST_F(UnauthenticatedBookTest, AConnectionIsLateAfterTheMaxTime) {
  const auto first = admit(1)[0];
  now_ += kJustBefore;
  const auto second = admit(1)[0];
  EXPECT_EQ(wakes_after(false), Book::kMaxTime - kJustBefore);
  now_ += Book::kMaxTime - 2 * kJustBefore;
  EXPECT_EQ(book_.late(now_), std::nullopt);
  now_ += kJustBefore;
  EXPECT_EQ(book_.late(now_), first);
  book_.refused(first);
  EXPECT_EQ(book_.late(now_), std::nullopt);
  now_ += kJustBefore;
  EXPECT_EQ(book_.late(now_), second);
}

// An old connection that is refused must not hide the next one.
TEST_F(UnauthenticatedBookTest, RefusedConnectionsAtTheFrontDoNotDelayTheOthers) {
  const auto ids = admit(2);
  now_ += Book::kMaxTime - kJustBefore;
  book_.refused(ids[0]);
  EXPECT_LE(book_.wake_at(false), now_ + kJustBefore);
  now_ += kJustBefore;
  EXPECT_EQ(book_.late(now_), ids[1]);
}

TEST_F(UnauthenticatedBookTest, AFailureIsFollowedByAPause) {
  book_.failed(now_);
  EXPECT_FALSE(book_.may_accept(now_));
  EXPECT_EQ(wakes_after(true), Book::kPause);
  EXPECT_EQ(book_.wake_at(false), TimePoint::max());
  now_ += Book::kPause;
  EXPECT_TRUE(book_.may_accept(now_));
}

TEST_F(UnauthenticatedBookTest, AShortageHasLastedUntilASuccess) {
  EXPECT_FALSE(book_.is_short(now_));
  book_.failed(now_);
  now_ += Book::kMaxShortage - kJustBefore;
  book_.failed(now_);
  EXPECT_FALSE(book_.is_short(now_));
  now_ += kJustBefore;
  EXPECT_TRUE(book_.is_short(now_));
  admit(1);
  EXPECT_FALSE(book_.is_short(now_));
  book_.failed(now_);
  EXPECT_FALSE(book_.is_short(now_)) << "a new one begins";
}

TEST_F(UnauthenticatedBookTest, WithoutPlacesNothingIsAcceptedAndNothingGivesWay) {
  admit(1);
  book_.limit_to(0);
  now_ += Book::kMinTime;
  EXPECT_FALSE(book_.may_accept(now_));
  EXPECT_EQ(wakes_after(true), Book::kMaxTime - Book::kMinTime) << "the one that it has is late";
  book_.limit_to(3);
  EXPECT_TRUE(book_.may_accept(now_));
  EXPECT_FALSE(book_.is_full(now_));
}

TEST_F(UnauthenticatedBookTest, WithFewerPlacesThanConnectionsAllThatAreTooManyGiveWay) {
  admit(2);
  now_ += kJustBefore;
  admit(1);
  book_.limit_to(1);
  now_ += Book::kMinTime - kJustBefore;
  EXPECT_FALSE(book_.may_accept(now_)) << "the third has not had its time";
  EXPECT_EQ(wakes_after(true), kJustBefore);
  now_ += kJustBefore;
  ASSERT_TRUE(book_.may_accept(now_));
  while (book_.is_full(now_)) {
    const auto oldest = book_.gives_way(now_);
    ASSERT_TRUE(oldest);
    book_.refused(*oldest);
  }
  EXPECT_EQ(book_.open(), 0u);
}

}  // namespace
}  // namespace paceline::testing
