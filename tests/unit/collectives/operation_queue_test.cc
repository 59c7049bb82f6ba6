#include "collectives/operation_queue.h"

#include <array>
#include <chrono>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/requests.h"
#include "tests/unit/collectives/communicator_fakes.h"

namespace paceline::testing {
namespace {

using std::chrono::milliseconds;

class OperationQueueTest : public ::testing::Test {
 protected:
  OperationRequest sum(std::size_t count = 1) {
    return requests::all_reduce(values_.data(), values_.data(), count, DataType::kFloat32);
  }
  std::shared_ptr<Completion> enter() {
    QueuedOperation& operation = queue_.enter(nullptr, sum());
    operation.completion = std::make_shared<Completion>();
    return operation.completion;
  }
  std::vector<FlightState> recorded() const {
    std::vector<FlightState> states;
    for (const FlightRecord& record : fake_.parts.flight->read()) states.push_back(record.state);
    return states;
  }

  FakeParts fake_;
  FakeBackend& backend_ = *fake_.backend;
  OperationQueue queue_{fake_.parts};
  std::array<float, 8> values_{};
};

TEST_F(OperationQueueTest, RunsOneAfterAnotherInTheOrderOfTheCalls) {
  const auto first = enter();
  ASSERT_TRUE(queue_.begin().ok());
  const auto second = enter(), third = enter();
  EXPECT_FALSE(queue_.advance()) << "one runs";
  for (const auto& completion : {first, second, third}) {
    EXPECT_FALSE(queue_.has_succeeded());
    backend_.has_ended = true;
    ASSERT_TRUE(queue_.has_succeeded());
    EXPECT_FALSE(completion->has_ended());
    queue_.end(fake_.engine->clock().now());
    EXPECT_TRUE(completion->has_ended());
    EXPECT_TRUE(completion->status.ok());
    if (completion == third) break;
    ASSERT_TRUE(queue_.advance());
    ASSERT_TRUE(queue_.begin().ok());
  }
  EXPECT_FALSE(queue_.advance());
  EXPECT_TRUE(queue_.is_empty());
  ASSERT_EQ(backend_.started.size(), 3U);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(backend_.started[i].sequence, i);
  EXPECT_EQ(queue_.stats().operations, 3U);
  EXPECT_EQ(recorded(), std::vector(3, FlightState::kSucceeded));
}

TEST_F(OperationQueueTest, AShortOperationEndsInBegin) {
  backend_.ends_at_once = true;
  OperationRequest request = sum();
  queue_.enter(&request, request);
  ASSERT_TRUE(queue_.begin().ok());
  EXPECT_FALSE(queue_.is_running());
  EXPECT_EQ(queue_.history().begun(), 1U);
  EXPECT_EQ(backend_.finished, 1);
}

TEST_F(OperationQueueTest, ARefusedOperationIsNotInTheHistory) {
  backend_.on_start = Status(Code::kUnavailable, Scope::kGroup, "no");
  const auto completion = enter();
  const Status refused = queue_.begin();
  EXPECT_EQ(refused.code(), Code::kUnavailable);
  EXPECT_EQ(queue_.history().begun(), 0U);
  queue_.end_all(refused, fake_.engine->clock().now());
  EXPECT_EQ(completion->status.code(), Code::kUnavailable);
}

TEST_F(OperationQueueTest, AnErrorEndsAllInTheOrderOfTheCalls) {
  const auto running = enter();
  ASSERT_TRUE(queue_.begin().ok());
  const auto waiting = enter();
  queue_.end_all(Status(Code::kPeerLost, Scope::kGroup, "lost", {.rank = 2}),
                 fake_.engine->clock().now());
  EXPECT_EQ(running->status.code(), Code::kPeerLost);
  EXPECT_EQ(waiting->status.code(), Code::kPeerLost);
  EXPECT_TRUE(queue_.is_empty());
  EXPECT_EQ(backend_.forgotten, 1);
  EXPECT_EQ(backend_.started.size(), 1U);
  const std::vector<FlightRecord> records = fake_.parts.flight->read();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].state, FlightState::kFailed);
  EXPECT_EQ(records[0].blamed, 2);
}

TEST_F(OperationQueueTest, TheNextOneBeginsEarlyOnceAndNotBeforeABarrier) {
  EXPECT_FALSE(queue_.begin_early()) << "nothing runs";
  enter();
  ASSERT_TRUE(queue_.begin().ok());
  EXPECT_FALSE(queue_.begin_early()) << "nothing waits";
  enter();
  EXPECT_FALSE(queue_.begin_early()) << "the backend is not ready";
  backend_.on_next = NextBegin::kBegun;
  EXPECT_TRUE(queue_.begin_early());
  EXPECT_FALSE(queue_.begin_early()) << "it has begun";
  ASSERT_EQ(backend_.begun_early.size(), 1U);
  EXPECT_EQ(backend_.begun_early[0].sequence, 1U);
  queue_.enter(nullptr, requests::barrier());
  backend_.has_ended = true;
  queue_.end(fake_.engine->clock().now());
  ASSERT_TRUE(queue_.advance());
  ASSERT_TRUE(queue_.begin().ok());
  EXPECT_FALSE(queue_.begin_early());
}

TEST_F(OperationQueueTest, TheTimeOfACallCountsFromTheCall) {
  OperationRequest request = sum();
  queue_.enter(&request, request);
  ASSERT_TRUE(queue_.begin().ok());
  queue_.set_timeout(milliseconds(7));
  OperationRequest next = sum();
  queue_.enter(&next, next);
  fake_.engine->pass(milliseconds(3));
  backend_.has_ended = true;
  queue_.end(fake_.engine->clock().now());
  ASSERT_TRUE(queue_.advance());
  ASSERT_TRUE(queue_.begin().ok());
  const QueuedOperation& current = queue_.current();
  EXPECT_EQ(current.timeout, milliseconds(7));
  EXPECT_EQ(current.begun_at - *current.called_at, milliseconds(3));
  EXPECT_EQ(queue_.stats().time_blocked, milliseconds(3));
}

TEST_F(OperationQueueTest, ABackgroundOperationKeepsTheEngineAwake) {
  enter();
  queue_.enter(nullptr, sum()).in_background = true;
  fake_.engine->begin_background();
  queue_.end_all(Status(Code::kCancelled, Scope::kGroup, "no"), fake_.engine->clock().now());
  EXPECT_EQ(fake_.engine->in_background, 0);
}

TEST_F(OperationQueueTest, RefusesWrongArgumentsTooManyAndCallsAfterClose) {
  EXPECT_TRUE(queue_.accepts_at_once(sum()));
  const OperationRequest wrong = requests::all_reduce(nullptr, nullptr, 1, DataType::kFloat32);
  EXPECT_FALSE(queue_.accepts_at_once(wrong));
  EXPECT_EQ(queue_.check(wrong).text(), "all_reduce: a buffer is null");
  EXPECT_TRUE(queue_.check(sum()).ok());
  enter();
  for (std::size_t i = 0; i < OperationQueue::kMaxQueued; ++i) {
    ASSERT_TRUE(queue_.check(sum()).ok());
    queue_.enter(nullptr, sum());
  }
  EXPECT_EQ(queue_.check(sum()).code(), Code::kExhausted);
  queue_.end_all(Status(Code::kCancelled, Scope::kGroup, "no"), fake_.engine->clock().now());
  queue_.close();
  EXPECT_FALSE(queue_.accepts_at_once(sum()));
  EXPECT_EQ(queue_.check(sum()).text(), "the communicator is closed");
}

TEST_F(OperationQueueTest, SaysWhatRuns) {
  EXPECT_EQ(queue_.account(), Account());
  enter();
  ASSERT_TRUE(queue_.begin().ok());
  backend_.waits_for = {1, 2};
  const Account account = queue_.account();
  EXPECT_TRUE(account.running);
  EXPECT_EQ(account.begun, 1U);
  EXPECT_EQ(account.awaited, (std::vector<std::int32_t>{1, 2}));
  ASSERT_EQ(account.recent.size(), 1U);
  EXPECT_EQ(account.recent[0].kind, OperationKind::kAllReduce);
}

}  // namespace
}  // namespace paceline::testing
