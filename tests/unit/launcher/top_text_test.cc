#include "launcher/control/top_text.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "launcher/control/interval.h"
#include "launcher/control/performance.h"

namespace paceline::launcher {
namespace {

namespace v1 = job::v1;

// A job of `ranks` ranks, each on a host of its own, after `seconds` of work. Rank 1 is late.
v1::Snapshot job_after(double seconds, int ranks = 2) {
  v1::Snapshot snapshot;
  snapshot.set_job_id("3f2a");
  snapshot.set_command("./train");
  snapshot.set_phase(v1::PHASE_RUNNING);
  snapshot.set_elapsed_seconds(seconds + 1);
  for (int i = 0; i < ranks; ++i) {
    v1::Rank& rank = *snapshot.add_ranks();
    rank.mutable_member()->set_index(static_cast<std::uint32_t>(i));
    rank.set_host("h" + std::to_string(i + 1));
    rank.set_state(v1::Rank::STATE_RUNNING);
    v1::Work& work = *rank.mutable_work();
    work.set_steps(static_cast<std::uint64_t>(seconds * 100));
    work.set_samples(static_cast<std::uint64_t>(seconds * 1000));
    work.set_compute_seconds(seconds * (i == 1 ? 0.9 : 0.5));
    work.set_communication_seconds(seconds * (i == 1 ? 0.1 : 0.5));
    work.set_running_seconds(seconds * 0.75);
    work.set_resident_bytes(std::uint64_t{20} << 20);
  }
  JobSummary summary{.ranks = ranks,
                     .job_ranks = ranks,
                     .has_steps = true,
                     .steps = static_cast<std::uint64_t>(seconds * 100),
                     .seconds = seconds};
  summary.shares = {0.7, 0.05, 0.25, 0, 0};
  summary.waited_for = {{1, 0.25}};
  summary.stragglers = {{.rank = 1, .waited_for = 0.25, .cause = Cause::kStopped}};
  *snapshot.mutable_performance() = performance_of(summary);
  return snapshot;
}

TEST(Interval, OfARankIsWhatItDidBetweenTheSnapshots) {
  const auto between = interval_of(job_after(10), job_after(12), 0);
  ASSERT_TRUE(between);
  EXPECT_DOUBLE_EQ(between->seconds, 2);
  EXPECT_DOUBLE_EQ(between->compute, 1);
  EXPECT_DOUBLE_EQ(between->running, 1.5);
  v1::Snapshot anew = job_after(12);
  anew.set_epoch(1);
  EXPECT_FALSE(interval_of(job_after(10), anew, 0));
  EXPECT_FALSE(interval_of(job_after(10), job_after(12), 2));
}

TEST(TopText, APageHasTheLateRankFirst) {
  EXPECT_EQ(top_page(job_after(10), job_after(12), 24),
            "job 3f2a: running after 13 s; 2 of 2 ranks run, steps of 10.00 ms, 2000 samples/s\n"
            "./train\n"
            "compute 70 %, waiting 25 %, moving data 5 %\n"
            "\n"
            "RANK  HOST  WAITED FOR  COMPUTE  COMM  INPUT  OTHER  CPU   NO CPU  MEMORY\n"
            "1     h2    25 %        90 %     10 %  0 %    0 %    75 %  0 %     20 MiB  it was "
            "stopped\n"
            "0     h1    -           50 %     50 %  0 %    0 %    75 %  0 %     20 MiB\n");
}

TEST(TopText, APageFitsTheTerminal) {
  for (const std::size_t lines : {1u, 7u, 8u, 24u}) {
    const std::string page = top_page(job_after(10, 100), job_after(12, 100), lines);
    const auto count = static_cast<std::size_t>(std::ranges::count(page, '\n'));
    EXPECT_LT(count, std::max<std::size_t>(lines, 7)) << page;
    EXPECT_NE(page.find("ranks that are waited for less"), std::string::npos) << page;
  }
}

TEST(TopText, ALineHasTheSpeedAndTheSplit) {
  EXPECT_EQ(top_line(job_after(10), job_after(12)),
            "13 s running: 2 of 2 ranks run, steps of 10.00 ms, 2000 samples/s; compute 70 %, "
            "waiting 25 %, moving data 5 %\n");
  v1::Snapshot starting;
  starting.set_phase(v1::PHASE_STARTING);
  EXPECT_EQ(top_line(starting, starting), "0 s starting: 0 of 0 ranks run\n");
}

}  // namespace
}  // namespace paceline::launcher
