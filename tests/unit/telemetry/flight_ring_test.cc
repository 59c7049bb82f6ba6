#include "telemetry/flight_ring.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/telemetry/numbered_records.h"

namespace paceline {
namespace {

using testing::numbered_record;
using testing::start_numbered;
using testing::whole_and_in_order;
using testing::write_numbered;

// Whether the ring gets this number of records.
bool comes_to(const FlightRing& ring, std::size_t records) {
  const Deadline deadline = Deadline::after(SystemClock(), std::chrono::seconds(10));
  while (ring.read().size() < records && !deadline.passed(SystemClock().now()))
    std::this_thread::yield();
  return ring.read().size() >= records;
}

TEST(FlightRing, AWriterWaitsAtTheOperationWhereItIsHeld) {
  const UniqueFd memory = FlightRing::create_memory().value();
  const auto writer = FlightRing::open(memory.get()).value();
  const auto reader = FlightRing::open(memory.get()).value();
  reader->hold_at(2);
  std::atomic<int> begun{0};
  std::thread rank([&] {
    for (std::uint64_t number = 0; number < 4; ++number) {
      writer->start({.sequence = number}, SystemClock().now());
      ++begun;
    }
  });
  EXPECT_TRUE(comes_to(*reader, 3));
  EXPECT_EQ(begun, 2) << "it has begun the third operation, and waits in it";
  reader->hold_at(std::nullopt);
  rank.join();
  EXPECT_EQ(begun, 4);
}

TEST(FlightRing, AWriterThatIsNotHeldWaitsNowhere) {
  const auto ring = FlightRing::create_private();
  const SystemClock clock;
  const TimePoint begin = clock.now();
  for (const std::uint64_t number : {UINT64_C(0), UINT64_C(0xFFFFFFFF), UINT64_C(0x100000000)})
    ring->start({.sequence = number}, begin);
  EXPECT_LT(clock.now() - begin, FlightRing::kMaxHold / 2);
}

TEST(FlightRing, AWriterExitsAtItsNextOperationIfItIsTold) {
  const UniqueFd memory = FlightRing::create_memory().value();
  const auto writer = FlightRing::open(memory.get()).value();
  FlightRing::open(memory.get()).value()->exit_at_next(7);
  EXPECT_EXIT(writer->start({.sequence = 3}, SystemClock().now()), ::testing::ExitedWithCode(7),
              "");
}

TEST(FlightRing, AWriterThatIsHeldExitsWhereItWaits) {
  const UniqueFd memory = FlightRing::create_memory().value();
  const auto reader = FlightRing::open(memory.get()).value();
  reader->hold_at(1);
  const pid_t rank = ::fork();
  if (rank == 0) {
    const auto writer = FlightRing::open(memory.get()).value();
    for (std::uint64_t number = 0; number < 3; ++number)
      writer->start({.sequence = number}, SystemClock().now());
    ::_exit(1);
  }
  if (!comes_to(*reader, 2)) {
    ADD_FAILURE() << "the rank has not begun its second operation";
    ::kill(rank, SIGKILL);
  }
  reader->exit_at_next(7);
  reader->hold_at(2);  // has no effect any more
  int status = 0;
  ASSERT_EQ(::waitpid(rank, &status, 0), rank);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  EXPECT_EQ(reader->read().size(), 2u);
}

TEST(FlightRing, IsEmptyAtFirst) { EXPECT_TRUE(FlightRing::create_private()->read().empty()); }

TEST(FlightRing, ShowsAnOperationWhileItRunsAndHowItEnded) {
  const auto ring = FlightRing::create_private();
  const std::uint64_t place = start_numbered(*ring, 5);
  ASSERT_EQ(ring->read().size(), 1u);
  EXPECT_EQ(ring->read()[0].signature, numbered_record(5).signature);
  EXPECT_EQ(ring->read()[0].state, FlightState::kStarted);
  EXPECT_EQ(ring->read()[0].ended_ns, 0);
  ring->finish(place, FlightState::kFailed, TimePoint(Duration(99)));
  ASSERT_EQ(ring->read().size(), 1u);
  EXPECT_EQ(ring->read()[0].state, FlightState::kFailed);
  EXPECT_EQ(ring->read()[0].ended_ns, 99);
  EXPECT_EQ(ring->read()[0].began_ns, 5);
}

TEST(FlightRing, KeepsTheLatestOldestFirst) {
  const auto ring = FlightRing::create_private();
  for (std::uint64_t number = 0; number < 1000; ++number) {
    write_numbered(*ring, number);
    const std::vector<FlightRecord> records = ring->read();
    ASSERT_EQ(records.size(), std::min<std::uint64_t>(number + 1, FlightRing::kRecords));
    ASSERT_EQ(records.back().signature.sequence, number);
    ASSERT_TRUE(whole_and_in_order(records));
  }
}

TEST(FlightRing, ALateEndLeavesThePlacesNewOwnerAlone) {
  const auto ring = FlightRing::create_private();
  const std::uint64_t place = start_numbered(*ring, 1);
  for (std::uint64_t i = 1; i < FlightRing::kRecords; ++i) start_numbered(*ring, 1 + i);
  ring->finish(place, FlightState::kSucceeded, TimePoint(Duration(2)));
  EXPECT_EQ(ring->read().front().state, FlightState::kSucceeded) << "it was still there";
  start_numbered(*ring, 1 + FlightRing::kRecords);
  ring->finish(place, FlightState::kFailed, TimePoint(Duration(3)));
  for (const FlightRecord& record : ring->read()) {
    EXPECT_EQ(record.state, FlightState::kStarted) << record.signature.to_string();
  }
}

TEST(FlightRing, KnowsHowFarItsRankHasComeHoweverLongAgo) {
  const auto ring = FlightRing::create_private();
  EXPECT_EQ(ring->milestones(), FlightMilestones());
  ring->note_join(TimePoint(Duration(3)), TimePoint(Duration(5)));
  const std::uint64_t first = start_numbered(*ring, 7);
  EXPECT_EQ(ring->milestones(), (FlightMilestones{.joining_ns = 3, .joined_ns = 5}));
  ring->finish(first, FlightState::kSucceeded, TimePoint(Duration(9)));
  for (std::uint64_t number = 10; number < 200; ++number) write_numbered(*ring, number);
  EXPECT_EQ(ring->milestones(),
            (FlightMilestones{.joining_ns = 3, .joined_ns = 5, .first_operation_ns = 9}));
}

TEST(FlightRing, ALookWhileItIsWrittenFindsWholeRecordsInOrder) {
  const auto ring = FlightRing::create_private();
  std::atomic<bool> written{false};
  std::thread writer([&] {
    for (std::uint64_t number = 0; number < 200'000; ++number) write_numbered(*ring, number);
    written.store(true);
  });
  bool good = true;
  std::uint64_t looks = 0;
  for (; !written.load(); ++looks) good &= whole_and_in_order(ring->read());
  writer.join();
  EXPECT_TRUE(good) << "in one of " << looks << " looks";
  EXPECT_EQ(ring->read().size(), FlightRing::kRecords);
}

TEST(FlightRecord, ReadsAsASentence) {
  FlightRecord record = numbered_record(12);
  record.signature.root = -1;
  record.began_ns = 1'000'000'000;
  EXPECT_EQ(record.to_string(TimePoint(std::chrono::milliseconds(4200))),
            "all_reduce(36 x float32, sum) #12, running for 3.200 s");
  record.ended_ns = 1'500'000'000;
  record.state = FlightState::kSucceeded;
  EXPECT_EQ(record.to_string(TimePoint::max()),
            "all_reduce(36 x float32, sum) #12, succeeded after 0.500 s");
  record.state = FlightState::kFailed;
  EXPECT_EQ(record.to_string(TimePoint::max()),
            "all_reduce(36 x float32, sum) #12, failed after 0.500 s");
}

}  // namespace
}  // namespace paceline
