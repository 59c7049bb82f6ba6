#include "launcher/agent/flight_book.h"

#include <atomic>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "comm/store_keys.h"

namespace paceline::launcher {
namespace {

// Time stands still at ten seconds.
class StoppedClock final : public Clock {
 public:
  TimePoint now() const override { return TimePoint(std::chrono::seconds(10)); }
};

std::uint64_t start_barrier(FlightRing& ring, std::uint64_t number, int began_s) {
  return ring.start({.sequence = number, .kind = OperationKind::kBarrier},
                    TimePoint(std::chrono::seconds(began_s)));
}

class FlightBookTest : public ::testing::Test {
 protected:
  // The ring of `rank` as the rank itself writes it.
  FlightRing& enter(int rank) {
    auto ring = FlightRing::create_private();
    FlightRing& borrowed = *ring;
    book_.enter(rank, std::move(ring));
    return borrowed;
  }

  const StoppedClock clock_;
  FlightBook book_{clock_};
};

TEST_F(FlightBookTest, OfAnUnknownRankOrOneThatHasBegunNothingItSaysNothing) {
  enter(3);
  for (const int rank : {-1, 0, 3, 4}) EXPECT_EQ(book_.last_operation(rank), "") << rank;
}

TEST_F(FlightBookTest, NamesTheOperationThatRuns) {
  start_barrier(enter(3), 7, 8);
  const std::string said = book_.last_operation(3);
  EXPECT_NE(said.find("barrier"), std::string::npos) << said;
  EXPECT_NE(said.find("#7"), std::string::npos) << said;
  EXPECT_NE(said.find("running for 2"), std::string::npos) << said;
  EXPECT_EQ(book_.last_operation(2), "") << "it is another's";
}

// The operation for which a rank waits is the oldest one that runs.
TEST_F(FlightBookTest, TellsWhereARankIsInACommunicator) {
  FlightRing& ring = enter(3);
  EXPECT_TRUE(book_.position(3).places.empty());
  ring.finish(start_barrier(ring, 6, 7), FlightState::kSucceeded, clock_.now());
  ASSERT_EQ(book_.position(3).places.size(), 1u);
  EXPECT_EQ(book_.position(3).places[0].record.signature.sequence, 6u);
  EXPECT_EQ(book_.position(3).places[0].calls, 7u);
  start_barrier(ring, 7, 8);
  start_barrier(ring, 8, 9);
  ring.finish(start_barrier(ring, 9, 9), FlightState::kSucceeded, clock_.now());
  EXPECT_EQ(book_.position(3).places[0].record.signature.sequence, 7u);
  EXPECT_EQ(book_.position(3).places[0].calls, 10u);
}

// A message carries the number of the collective operation that comes next.
TEST_F(FlightBookTest, MessagesAreNoCollectiveOperations) {
  FlightRing& ring = enter(3);
  ring.start({.sequence = 7, .root = 1, .kind = OperationKind::kSend}, clock_.now());
  ASSERT_EQ(book_.position(3).places.size(), 1u);
  EXPECT_EQ(book_.position(3).places[0].calls, 7u);
}

TEST_F(FlightBookTest, TellsHowFarARankHasCome) {
  enter(3).note_join(TimePoint(Duration(4)), TimePoint(Duration(6)));
  EXPECT_EQ(book_.milestones(3), (FlightMilestones{.joining_ns = 4, .joined_ns = 6}));
  EXPECT_EQ(book_.milestones(2), FlightMilestones()) << "it is another's";
}

TEST_F(FlightBookTest, KnowsWhomARankHoldsResponsible) {
  FlightRing& ring = enter(2);
  EXPECT_EQ(book_.blamed(2), std::nullopt);
  const auto first = start_barrier(ring, 7, 1);
  ring.finish(first, FlightState::kSucceeded, clock_.now());
  EXPECT_EQ(book_.blamed(2), std::nullopt);
  const auto second = start_barrier(ring, 8, 2);
  ring.finish(second, FlightState::kFailed, clock_.now(), 5);
  EXPECT_EQ(book_.blamed(2), 5);
  EXPECT_EQ(book_.blamed(1), std::nullopt) << "unknown";
}

TEST_F(FlightBookTest, WhoBlamesItselfOrNobodyBlamesNobody) {
  FlightRing& ring = enter(2);
  ring.finish(start_barrier(ring, 7, 1), FlightState::kFailed, clock_.now(), 2);
  EXPECT_EQ(book_.blamed(2), std::nullopt);
  ring.finish(start_barrier(ring, 8, 1), FlightState::kFailed, clock_.now());
  EXPECT_EQ(book_.blamed(2), std::nullopt);
}

TEST_F(FlightBookTest, OfSeveralThatRunNamesTheLatest) {
  FlightRing& ring = enter(0);
  start_barrier(ring, 7, 1);
  start_barrier(ring, 8, 2);
  EXPECT_NE(book_.last_operation(0).find("#8"), std::string::npos) << book_.last_operation(0);
}

// Operations may end in another order than they began.
TEST_F(FlightBookTest, OneThatRunsCountsMoreThanALaterOneThatHasEnded) {
  FlightRing& ring = enter(0);
  start_barrier(ring, 7, 1);
  ring.finish(start_barrier(ring, 8, 2), FlightState::kSucceeded, clock_.now());
  EXPECT_NE(book_.last_operation(0).find("#7"), std::string::npos) << book_.last_operation(0);
}

TEST_F(FlightBookTest, WhereNoneRunsTheLastOneIsNamed) {
  FlightRing& ring = enter(0);
  for (const std::uint64_t number : {7u, 8u}) {
    ring.finish(start_barrier(ring, number, 1), FlightState::kFailed, clock_.now());
  }
  const std::string said = book_.last_operation(0);
  EXPECT_NE(said.find("#8"), std::string::npos) << said;
  EXPECT_EQ(said.find("running"), std::string::npos) << said;
}

TEST_F(FlightBookTest, ANewRingTakesTheOldOnesPlace) {
  start_barrier(enter(0), 7, 1);
  start_barrier(enter(0), 1, 1);
  EXPECT_NE(book_.last_operation(0).find("#1"), std::string::npos) << book_.last_operation(0);
}

TEST_F(FlightBookTest, AnswersTheStoresKeyOfARankAndNoOther) {
  start_barrier(enter(3), 7, 8);
  EXPECT_EQ(book_.answer(flight_key(3)), book_.last_operation(3));
  for (const std::string key :
       {"", "live/flight/", "live/flight/2", "live/flight/3x", "live/flight/-3", "live/other/3"}) {
    EXPECT_EQ(book_.answer(key), "") << key;
  }
}

TEST_F(FlightBookTest, MayBeAskedWhileRingsAreEnteredAndWritten) {
  constexpr int kRanks = 64;
  std::atomic<bool> ended = false;
  std::jthread reader([&] {
    while (!ended) {
      for (int rank = 0; rank < kRanks; ++rank) {
        const std::string said = book_.answer(flight_key(rank));
        EXPECT_TRUE(said.empty() || said.find("barrier") != std::string::npos) << said;
      }
    }
  });
  for (int rank = 0; rank < kRanks; ++rank) {
    FlightRing& ring = enter(rank);
    for (std::uint64_t number = 0; number < 100; ++number) {
      start_barrier(ring, number, 1);
    }
  }
  ended = true;
  reader.join();
  for (int rank = 0; rank < kRanks; ++rank) EXPECT_NE(book_.last_operation(rank), "") << rank;
}

}  // namespace
}  // namespace paceline::launcher
