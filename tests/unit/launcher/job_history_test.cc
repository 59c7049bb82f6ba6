#include "launcher/web/job_history.h"

#include <string>

#include <gtest/gtest.h>

#include "launcher/control/performance.h"

namespace paceline::launcher {
namespace {

namespace v1 = job::v1;

// A job of two ranks after so many seconds. Its time divides into compute and waiting.
v1::Snapshot after(double elapsed, double compute, double waiting, std::uint64_t samples) {
  v1::Snapshot snapshot;
  snapshot.set_elapsed_seconds(elapsed);
  snapshot.set_phase(v1::PHASE_RUNNING);
  for (std::uint32_t i = 0; i < 2; ++i) {
    v1::Rank& rank = *snapshot.add_ranks();
    rank.mutable_member()->set_role("worker");
    rank.mutable_member()->set_index(i);
    rank.set_host("h" + std::to_string(i + 1));
    rank.set_state(v1::Rank::STATE_RUNNING);
    rank.mutable_work()->set_samples(samples / 2);
  }
  JobSummary summary{.ranks = 2, .job_ranks = 2, .has_steps = true, .seconds = compute + waiting};
  summary.shares[static_cast<std::size_t>(Spent::kCompute)] = compute / (compute + waiting);
  summary.shares[static_cast<std::size_t>(Spent::kWaiting)] = waiting / (compute + waiting);
  *snapshot.mutable_performance() = performance_of(summary);
  return snapshot;
}

double of(const JobHistory::Point& point, Spent spent) {
  return point.spent[static_cast<std::size_t>(spent)];
}

TEST(JobHistory, APointIsWhatHappenedBetweenTwoSnapshots) {
  JobHistory history;
  history.take(after(10, 6, 4, 100));
  EXPECT_TRUE(history.points().empty());
  history.take(after(11, 6.8, 4.2, 120));
  ASSERT_EQ(history.points().size(), 1u);
  EXPECT_DOUBLE_EQ(history.points()[0].until, 11);
  EXPECT_DOUBLE_EQ(history.points()[0].seconds, 1);
  EXPECT_NEAR(of(history.points()[0], Spent::kCompute), 0.8, 1e-9);
  EXPECT_NEAR(of(history.points()[0], Spent::kWaiting), 0.2, 1e-9);
  EXPECT_DOUBLE_EQ(history.points()[0].samples, 20);
}

TEST(JobHistory, ACorrectedEstimateIsNotNegative) {
  JobHistory history;
  history.take(after(10, 6, 4, 100));
  history.take(after(11, 7.2, 3.8, 100));
  EXPECT_EQ(of(history.points()[0], Spent::kWaiting), 0);
}

TEST(JobHistory, AfterARestartRanksBeginAnew) {
  JobHistory history;
  history.take(after(10, 6, 4, 100));
  v1::Snapshot anew = after(11, 0.5, 0.1, 10);
  anew.set_epoch(1);
  history.take(anew);
  ASSERT_EQ(history.points().size(), 1u);
  EXPECT_NEAR(of(history.points()[0], Spent::kCompute), 0.5, 1e-9);
  EXPECT_DOUBLE_EQ(history.points()[0].samples, 10);
  EXPECT_EQ(history.events().back().text, "all ranks were started again (start 2)");
}

TEST(JobHistory, ManyPointsAreMergedAndLoseNothing) {
  JobHistory history;
  const int seconds = 10000;
  for (int i = 0; i <= seconds; ++i)
    history.take(after(i + 1, 0.9 * i + 1, 0.1 * i, 2U * static_cast<unsigned>(i)));
  EXPECT_LE(history.points().size(), JobHistory::kMostPoints);
  EXPECT_GE(history.points().size(), JobHistory::kMostPoints / 2);
  double length = 0, compute = 0, samples = 0;
  for (const JobHistory::Point& point : history.points()) {
    length += point.seconds;
    compute += of(point, Spent::kCompute);
    samples += point.samples;
  }
  EXPECT_NEAR(length, seconds, 1e-6);
  EXPECT_NEAR(compute, 0.9 * seconds, 1e-6);
  EXPECT_NEAR(samples, 2.0 * seconds, 1e-6);
  EXPECT_DOUBLE_EQ(history.points().back().until, seconds + 1);
}

TEST(JobHistory, EventsAreToldOnce) {
  JobHistory history;
  v1::Snapshot snapshot = after(1, 1, 0, 0);
  history.take(snapshot);
  v1::Rank& rank = *snapshot.mutable_ranks(1);
  rank.set_state(v1::Rank::STATE_ENDED);
  rank.set_exit_code(3);
  rank.set_end("exit code 3");
  snapshot.set_phase(v1::PHASE_ENDING);
  v1::WaitedFor& waited = *snapshot.mutable_performance()->add_waited_for();
  waited.mutable_member()->set_index(0);
  waited.set_cause("it was stopped");
  history.take(snapshot);
  history.take(snapshot);
  ASSERT_EQ(history.events().size(), 4u);
  EXPECT_EQ(history.events()[0].text, "the job is running");
  EXPECT_EQ(history.events()[1].text, "the job is ending");
  EXPECT_EQ(history.events()[2].text, "worker 1 on h2 ended: exit code 3");
  EXPECT_EQ(history.events()[3].text, "others wait for worker 0 on h1: it was stopped");
  EXPECT_EQ(history.events()[3].number, 3u);
}

TEST(JobHistory, ARankThatSucceedsIsNoEvent) {
  JobHistory history;
  v1::Snapshot snapshot = after(1, 1, 0, 0);
  history.take(snapshot);
  snapshot.mutable_ranks(0)->set_state(v1::Rank::STATE_ENDED);
  snapshot.mutable_ranks(0)->set_exit_code(0);
  history.take(snapshot);
  EXPECT_EQ(history.events().size(), 1u);
}

TEST(JobHistory, EventsAreBounded) {
  JobHistory history;
  v1::Snapshot snapshot = after(1, 1, 0, 0);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    snapshot.set_epoch(i);
    history.take(snapshot);
  }
  EXPECT_EQ(history.events().size(), JobHistory::kMostEvents);
  EXPECT_EQ(history.events().back().number, 999u);
}

}  // namespace
}  // namespace paceline::launcher
