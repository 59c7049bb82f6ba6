#include "telemetry/step_ledger.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/base/random.h"

namespace paceline {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

class StepLedgerTest : public ::testing::Test {
 protected:
  void pass(Duration time) { now_ += time; }
  void wait(Duration time) {
    ledger_->add_exposed(now_, now_ + time);
    pass(time);
  }
  StepTotals totals() const { return ledger_->read().totals; }
  void expect_sum() const {
    const StepTotals read = totals();
    nanoseconds sum{};
    for (const auto& part : read.parts) sum += part;
    EXPECT_EQ(sum, read.wall);
  }

  TimePoint now_{std::chrono::hours(1)};
  std::unique_ptr<StepLedger> ledger_ = StepLedger::create_private();
};

TEST_F(StepLedgerTest, NothingHasHappenedAtFirst) {
  EXPECT_EQ(totals().steps, 0u);
  EXPECT_EQ(totals().wall, nanoseconds(0));
  EXPECT_EQ(totals().scaling_efficiency_estimate(), 0.0);
  EXPECT_NE(totals().to_string().find("step 0.000 ms"), std::string::npos);
}

TEST_F(StepLedgerTest, WaitsAreCommunicationAndTheRestIsCompute) {
  ledger_->begin_step(now_);
  pass(milliseconds(30));
  wait(milliseconds(10));
  pass(milliseconds(5));
  ledger_->end_step(now_, 64, 2e9);
  EXPECT_EQ(totals().steps, 1u);
  EXPECT_EQ(totals().samples, 64u);
  EXPECT_EQ(totals().flop, 2e9);
  EXPECT_EQ(totals().wall, milliseconds(45));
  EXPECT_EQ(totals().part(StepPart::kCompute), milliseconds(35));
  EXPECT_EQ(totals().part(StepPart::kCommunication), milliseconds(10));
}

TEST_F(StepLedgerTest, TimeBetweenStepsIsOtherButForWaits) {
  ledger_->begin_step(now_);
  pass(milliseconds(10));
  ledger_->end_step(now_, 0, 0);
  pass(milliseconds(7));
  wait(milliseconds(2));
  ledger_->begin_step(now_);
  pass(milliseconds(10));
  ledger_->end_step(now_, 0, 0);
  pass(milliseconds(1000));  // after the last end_step(): not counted
  EXPECT_EQ(totals().steps, 2u);
  EXPECT_EQ(totals().wall, milliseconds(29));
  EXPECT_EQ(totals().part(StepPart::kOther), milliseconds(7));
  EXPECT_EQ(totals().part(StepPart::kCommunication), milliseconds(2));
  expect_sum();
}

TEST_F(StepLedgerTest, TheFirstEndBeginsTheAccountWithoutABegin) {
  pass(milliseconds(500));
  ledger_->end_step(now_, 10, 0);
  pass(milliseconds(20));
  ledger_->end_step(now_, 10, 0);
  EXPECT_EQ(totals().steps, 1u);
  EXPECT_EQ(totals().samples, 10u);
  EXPECT_EQ(totals().wall, milliseconds(20));
}

TEST_F(StepLedgerTest, PartsThatAreEnteredCount) {
  ledger_->begin_step(now_);
  EXPECT_EQ(ledger_->enter_part(StepPart::kInput, now_), StepPart::kCompute);
  pass(milliseconds(4));
  wait(milliseconds(3));  // for other ranks while input is loaded
  EXPECT_EQ(ledger_->enter_part(StepPart::kCommunication, now_),
            StepPart::kInput);  // counts as compute
  pass(milliseconds(1));
  EXPECT_EQ(ledger_->enter_part(StepPart::kOther, now_), StepPart::kCompute);
  pass(milliseconds(2));
  ledger_->end_step(now_, 0, 0);
  EXPECT_EQ(totals().part(StepPart::kInput), milliseconds(4));
  EXPECT_EQ(totals().part(StepPart::kCommunication), milliseconds(3));
  EXPECT_EQ(totals().part(StepPart::kCompute), milliseconds(1));
  EXPECT_EQ(totals().part(StepPart::kOther), milliseconds(2));
  expect_sum();
}

TEST_F(StepLedgerTest, PartsSumToWallExactlyWhateverTheTimesAre) {
  Random random(1);
  constexpr StepPart kEntered[] = {StepPart::kCompute, StepPart::kInput, StepPart::kOther};
  for (int i = 0; i < 10000; ++i) {
    const auto time = nanoseconds(random.below(1000000));
    switch (random.below(5)) {
      case 0:
        ledger_->begin_step(now_);
        break;
      case 1:
        ledger_->end_step(now_, 1, 0);
        expect_sum();
        break;
      case 2:
        ledger_->enter_part(kEntered[random.below(3)], now_);
        break;
      case 3:
        wait(time);
        break;
      default:
        pass(time);
    }
  }
}

TEST_F(StepLedgerTest, OverlappingWaitsCountOnce) {
  EXPECT_EQ(ledger_->add_exposed(now_, now_ + milliseconds(10)), milliseconds(10));
  EXPECT_EQ(ledger_->add_exposed(now_ + milliseconds(5), now_ + milliseconds(12)), milliseconds(2));
  EXPECT_EQ(ledger_->add_exposed(now_, now_ + milliseconds(12)), Duration(0));
  EXPECT_EQ(ledger_->read().exposed_ns, Duration(milliseconds(12)).count());
}

TEST_F(StepLedgerTest, OnlyTheMarkingThreadMarksAndIsExposed) {
  std::thread([this] { EXPECT_TRUE(ledger_->counts_here()); }).join();
  ledger_->begin_step(now_);
  EXPECT_TRUE(ledger_->counts_here());
  std::thread([this] {
    EXPECT_FALSE(ledger_->counts_here());
    ledger_->end_step(now_, 1, 0);
  }).join();
  EXPECT_EQ(totals().steps, 0u);
}

TEST_F(StepLedgerTest, AForkedChildMarksNothing) {
  auto memory = StepLedger::create_memory().value();
  const auto writer = StepLedger::open(memory.get()).value();
  const auto reader = StepLedger::open(memory.get()).value();
  writer->begin_step(now_);
  const pid_t child = ::fork();
  if (child == 0) {
    writer->end_step(now_ + milliseconds(1), 1, 0);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(reader->read().totals.steps, 0u);
  writer->end_step(now_ + milliseconds(3), 8, 0);
  EXPECT_EQ(reader->read().totals.steps, 1u);
  EXPECT_EQ(reader->read().totals.samples, 8u);
  EXPECT_EQ(reader->read().totals.wall, milliseconds(3));
}

TEST_F(StepLedgerTest, InputIsRepeatedOnceAStepHasEnded) {
  EXPECT_FALSE(ledger_->input_is_repeated());
  ledger_->end_step(now_, 1, 0);
  EXPECT_FALSE(ledger_->input_is_repeated()) << "nothing is ablated";

  auto memory = StepLedger::create_memory().value();
  const auto writer = StepLedger::open(memory.get()).value();
  const auto reader = StepLedger::open(memory.get()).value();
  writer->ablate_input();
  EXPECT_FALSE(writer->input_is_repeated()) << "the first batch is loaded";
  writer->end_step(now_, 1, 0);  // without a begin it only begins the account
  EXPECT_FALSE(reader->read().repeats_input) << "the program has not asked since";
  const pid_t loader = ::fork();
  if (loader == 0) ::_exit(writer->input_is_repeated() ? 3 : 0);
  int status = 0;
  ::waitpid(loader, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_TRUE(reader->read().repeats_input);
}

TEST_F(StepLedgerTest, NumbersOfFlopThatAreNoneDoNotCount) {
  ledger_->begin_step(now_);
  for (const double flop : {1e9, HUGE_VAL, -1e9, std::nan("")}) ledger_->end_step(now_, 1, flop);
  EXPECT_EQ(totals().flop, 1e9);
}

TEST_F(StepLedgerTest, OtherMemoryIsRefused) {
  UniqueFd file(::memfd_create("other", 0));
  const auto ledger = StepLedger::open(file.get());
  ASSERT_FALSE(ledger.ok());
  EXPECT_NE(ledger.status().text().find("step ledger: descriptor"), std::string::npos);
}

// A reader never sees the middle of a mark.
TEST_F(StepLedgerTest, ReadersSeeWholeMarks) {
  std::atomic<bool> ended{false};
  std::thread reader([this, &ended] {
    while (!ended.load()) expect_sum();
  });
  ledger_->begin_step(now_);
  for (int i = 0; i < 100000; ++i) {
    pass(nanoseconds(i));
    ledger_->end_step(now_, 1, 0);
  }
  ended.store(true);
  reader.join();
  EXPECT_EQ(totals().steps, 100000u);
}

}  // namespace
}  // namespace paceline
