// A rank that is killed in the middle of writing leaves records that can be read.

#include <csignal>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "telemetry/flight_ring.h"
#include "tests/unit/telemetry/numbered_records.h"

namespace paceline {
namespace {

// A process that writes numbered records until it is killed.
class Rank {
 public:
  explicit Rank(int memory) : pid_(::fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const auto ring = FlightRing::open(memory).value();
    for (std::uint64_t number = 0;; ++number) testing::write_numbered(*ring, number);
  }
  ~Rank() { kill(); }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  bool started() const { return pid_ > 0; }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_;
};

// Until the ring has gone round at least once; false if that takes too long.
bool wait_for_records(const FlightRing& ring) {
  const SystemClock clock;
  const Deadline deadline = Deadline::after(clock, std::chrono::seconds(20));
  while (!deadline.passed(clock.now())) {
    const std::vector<FlightRecord> records = ring.read();
    if (!records.empty() && records.back().signature.sequence > FlightRing::kRecords) return true;
    ::sched_yield();
  }
  return false;
}

TEST(FlightCrash, AKilledRankLeavesItsLastOperations) {
  for (int round = 0; round < 50; ++round) {
    const UniqueFd memory = FlightRing::create_memory().value();
    const auto agent = FlightRing::open(memory.get()).value();
    Rank rank(memory.get());
    ASSERT_TRUE(rank.started());
    ASSERT_TRUE(wait_for_records(*agent));
    rank.kill();
    const std::vector<FlightRecord> records = agent->read();
    EXPECT_GE(records.size(), FlightRing::kRecords - 1) << "only the one being written may lack";
    EXPECT_TRUE(testing::whole_and_in_order(records));
  }
}

TEST(FlightCrash, TheRingCanBeWrittenAgain) {
  const UniqueFd memory = FlightRing::create_memory().value();
  const auto ring = FlightRing::open(memory.get()).value();
  for (int round = 0; round < 50; ++round) {
    Rank rank(memory.get());
    ASSERT_TRUE(rank.started());
    ASSERT_TRUE(wait_for_records(*ring));
    rank.kill();
    for (std::uint64_t i = 0; i < FlightRing::kRecords; ++i) testing::write_numbered(*ring, i);
    ASSERT_EQ(ring->read().size(), FlightRing::kRecords);
    EXPECT_TRUE(testing::whole_and_in_order(ring->read()));
  }
}

// The moment that killing hits only by chance, made by hand: the record's version is odd.
TEST(FlightCrash, ARecordCutInTheMiddleIsLeftOutAndItsPlaceUsedAgain) {
  const UniqueFd memory = FlightRing::create_memory().value();
  const auto ring = FlightRing::open(memory.get()).value();
  for (std::uint64_t i = 0; i < FlightRing::kRecords; ++i) testing::write_numbered(*ring, i);
  const off_t first_version = 64;  // of the first part
  std::uint32_t version = 0;
  ASSERT_EQ(::pread(memory.get(), &version, sizeof version, first_version), sizeof version);
  ASSERT_TRUE(version > 0 && version % 2 == 0) << "the layout has changed: " << version;
  ++version;
  ASSERT_EQ(::pwrite(memory.get(), &version, sizeof version, first_version), sizeof version);
  ASSERT_EQ(ring->read().size(), FlightRing::kRecords - 1);
  EXPECT_EQ(ring->read().front().signature.sequence, 1u);
  testing::write_numbered(*ring, FlightRing::kRecords);
  EXPECT_EQ(ring->read().size(), FlightRing::kRecords);
  EXPECT_TRUE(testing::whole_and_in_order(ring->read()));
}

}  // namespace
}  // namespace paceline
