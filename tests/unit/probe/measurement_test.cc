#include "launcher/tools/measure/probe/loop/measurement.h"

#include <gtest/gtest.h>

#include "launcher/tools/measure/probe/loop/shared_meeting.h"
#include "launcher/tools/measure/probe/loop/subject_meeting.h"
#include "launcher/tools/measure/probe/raw/raw_loop.h"
#include "tests/unit/probe/shared_ranks.h"

namespace paceline::probe {
namespace {

constexpr int kTwoRanks = 2;

Orders orders_for(const char* operation) {
  Orders orders;
  orders.operation = operation;
  orders.check = true;
  orders.time_ms = 1;
  orders.high_bytes = 1 << 16;
  return orders;
}

/// A library that answers with its own input, as if it were alone.
class Lonely final : public Subject {
 public:
  explicit Lonely(Subject& other) : other_(other) {}
  int rank() const override { return other_.rank(); }
  int size() const override { return other_.size(); }
  Status call(const Call& call) override {
    return call.kind == OperationKind::kBarrier ? other_.barrier() : Status();
  }

 private:
  Subject& other_;
};

class Measuring : public ::testing::Test {
 protected:
  // Calls `body(subject, meeting)` on every rank.
  template <class Body>
  void run(Body body) {
    run_ranks(kTwoRanks, [&](int rank) {
      const auto raw =
          RawLoop::open(raw_file_.path(), {.rank = rank, .ranks = kTwoRanks, .cpus = 1}, clock_);
      const auto meeting = SharedMeeting::open(
          meeting_file_.path(), {.rank = rank, .ranks = kTwoRanks, .cpus = 1}, clock_);
      body(**raw, **meeting);
    });
  }

  const SystemClock clock_;
  const NamelessFile raw_file_;
  const NamelessFile meeting_file_;
};

void expect_plausible(const Result<Row>& row, std::size_t bytes) {
  ASSERT_TRUE(row.ok()) << row.status().to_string();
  EXPECT_EQ(row->bytes, bytes);
  EXPECT_EQ(row->count, bytes / 4);
  EXPECT_EQ(row->wrong, 0);
  EXPECT_GT(row->p50_ns, 0);
  EXPECT_GE(row->p99_ns, row->p50_ns);
  EXPECT_GE(row->samples, 5u);
  EXPECT_EQ(row->batch > 1, bytes <= 8192);
}

TEST_F(Measuring, RightResults) {
  for (const char* operation : {"all_reduce", "broadcast"}) {
    const Orders orders = orders_for(operation);
    run([&](Subject& subject, Meeting& meeting) {
      const auto measurement =
          Measurement::create({.subject = subject, .meeting = meeting, .clock = clock_}, orders)
              .value();
      for (const std::size_t bytes : {4u, 8192u, 65536u})
        expect_plausible(measurement->measure(bytes), bytes);
    });
  }
}

TEST_F(Measuring, OutOfPlaceAndCold) {
  Orders orders = orders_for("all_reduce");
  orders.in_place = false;
  orders.cold = true;
  orders.high_bytes = 64;
  run([&](Subject& subject, Meeting& meeting) {
    const auto measurement =
        Measurement::create({.subject = subject, .meeting = meeting, .clock = clock_}, orders)
            .value();
    const Result<Row> row = measurement->measure(64);
    ASSERT_TRUE(row.ok());
    EXPECT_EQ(row->batch, 1u);
    EXPECT_EQ(row->wrong, 0);
  });
}

TEST_F(Measuring, WrongResultsAreCountedOnAllRanks) {
  const Orders orders = orders_for("all_reduce");
  run([&](Subject& subject, Meeting& meeting) {
    Lonely lonely(subject);
    const auto measurement =
        Measurement::create({.subject = lonely, .meeting = meeting, .clock = clock_}, orders)
            .value();
    const Result<Row> row = measurement->measure(4096);
    ASSERT_TRUE(row.ok());
    EXPECT_GT(row->wrong, 2 * 1000) << "most of both ranks' elements, of many calls";
  });
}

TEST_F(Measuring, RanksMayMeetByWhatTheyMeasure) {
  const Orders orders = orders_for("all_reduce");
  run([&](Subject& subject, Meeting&) {
    SubjectMeeting meeting(subject);
    const auto measurement =
        Measurement::create({.subject = subject, .meeting = meeting, .clock = clock_}, orders)
            .value();
    expect_plausible(measurement->measure(1024), 1024);
  });
}

TEST_F(Measuring, CopiesHaveARate) {
  const Orders orders = orders_for("all_reduce");
  run([&](Subject& subject, Meeting& meeting) {
    const auto measurement =
        Measurement::create({.subject = subject, .meeting = meeting, .clock = clock_}, orders)
            .value();
    for (const int copiers : {1, 2}) {
      const Result<double> rate = measurement->copy_bytes_per_ns(4096, copiers);
      ASSERT_TRUE(rate.ok());
      EXPECT_GT(*rate, 0);
    }
  });
}

}  // namespace
}  // namespace paceline::probe
