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

std::string page_of(const v1::Snapshot& before, const v1::Snapshot& now, std::size_t lines) {
  return top_page({.earlier = before, .before = before, .now = now}, lines);
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
  EXPECT_EQ(page_of(job_after(10), job_after(12), 24),
            "job 3f2a: running after 13 s; 2 of 2 ranks run, steps of 10.00 ms, 2000 samples/s\n"
            "./train\n"
            "compute 70 %, waiting 25 %, moving data 5 %\n"
            "\n"
            "RANK  HOST  WAITED FOR  COMPUTE  COMM  INPUT  OTHER  CPU   NO CPU  MEMORY\n"
            "1     h2    25 %        90 %     10 %  0 %    0 %    75 %  0 %     20 MiB  it was "
            "stopped\n"
            "0     h1    -           50 %     50 %  0 %    0 %    75 %  0 %     20 MiB\n");
}

// A host with 2 CPUs that has used 1.5 of them, and has one GPU.
v1::Snapshot with_host(v1::Snapshot snapshot, double seconds) {
  v1::Host& host = *snapshot.add_hosts();
  host.set_name("h1");
  v1::HostUse& use = *host.mutable_use();
  use.set_time_seconds(1000 + seconds);
  use.set_cpus(2);
  use.set_cpu_seconds(1.5 * seconds);
  use.set_io_stalled_seconds(0.25 * seconds);
  use.set_available_memory_bytes(std::uint64_t{3} << 30);
  use.set_read_bytes(static_cast<std::uint64_t>(1e6 * seconds));
  use.set_written_bytes(static_cast<std::uint64_t>(2e6 * seconds));
  host.add_gpus()->set_busy_ratio(0.5);
  return snapshot;
}

TEST(Interval, OfAHostIsUnknownWithoutTwoReadings) {
  const v1::Snapshot now = with_host(job_after(12), 12);
  EXPECT_DOUBLE_EQ(*host_interval_of(with_host(job_after(10), 10), now, 0).cpus_busy, 1.5);
  EXPECT_FALSE(host_interval_of(now, now, 0).cpus_busy);
  EXPECT_FALSE(host_interval_of(job_after(10), now, 0).cpus_busy);
  EXPECT_FALSE(host_interval_of(with_host(job_after(10), 10), now, 0).cpu_stalled);
}

TEST(TopText, HostsAreBelowTheRanks) {
  const std::string page = page_of(with_host(job_after(10), 10), with_host(job_after(12), 12), 24);
  EXPECT_TRUE(page.ends_with(
      "\n\n"
      "HOST  CPUS BUSY  NO CPU  NO MEMORY  DISK WAIT  FREE     DISK      NETWORK  GPUS\n"
      "h1    1.5 of 2   -       -          25 %       3.0 GiB  3.0 MB/s  -        1: 50 %\n"))
      << page;
}

TEST(TopText, APageFitsTheTerminal) {
  for (const std::size_t lines : {1u, 7u, 8u, 24u}) {
    const std::string page = page_of(job_after(10, 100), job_after(12, 100), lines);
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
