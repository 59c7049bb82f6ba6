#include "launcher/control/performance.h"

#include <chrono>

#include <gtest/gtest.h>

#include "launcher/control/host_use.h"
#include "launcher/control/status_text.h"

namespace paceline::launcher {
namespace {

JobSummary summary() {
  JobSummary made{.ranks = 2,
                  .job_ranks = 2,
                  .has_steps = true,
                  .steps = 420,
                  .seconds = 4.2,
                  .samples_per_s = 35824,
                  .flop_per_s = 1e9,
                  .peak_flop_per_s = 1e9,
                  .shares = {0.6, 0.1, 0.2, 0.08, 0.02}};
  made.waited_for = {{1, 0.19}, {0, 0.01}};
  made.links = {{.from = "h1", .to = "h2", .bytes = 9, .resent_bytes = 1, .busy_seconds = 3},
                {.from = "h2", .to = "h1", .bytes = 9, .busy_seconds = 1}};
  made.slow_links = {{.link = made.links[0], .usual = 9}};
  made.stragglers = {{.rank = 1, .waited_for = 0.19, .cause = Cause::kStopped}};
  return made;
}

TEST(Performance, ArrivesAsItWas) {
  const JobSummary arrived = summary_of(performance_of(summary()), 2);
  EXPECT_EQ(arrived.ranks, 2);
  EXPECT_TRUE(arrived.has_steps);
  EXPECT_EQ(arrived.steps, 420u);
  EXPECT_EQ(arrived.seconds, 4.2);
  EXPECT_EQ(arrived.samples_per_s, 35824);
  EXPECT_EQ(arrived.flop_per_s, 1e9);
  EXPECT_EQ(arrived.mfu(), 0.5);
  EXPECT_EQ(arrived.shares, summary().shares);
  EXPECT_EQ(arrived.waited_for, summary().waited_for);
  EXPECT_EQ(arrived.links, summary().links);
  EXPECT_EQ(arrived.slow_links, summary().slow_links);
  ASSERT_EQ(arrived.stragglers.size(), 1u);
  EXPECT_EQ(arrived.stragglers[0].rank, 1);
  EXPECT_EQ(arrived.stragglers[0].cause, Cause::kStopped);
}

TEST(Performance, OfARankHasWhatIsKnown) {
  RankReading reading;
  reading.use.figures.set(HostFigure::kCpuStalled, 1.5);
  reading.use.figures.set(HostFigure::kDiskRead, 4096);
  reading.use.gpu = 3;
  const job::v1::Work work = work_of(reading);
  EXPECT_EQ(work.cpu_stalled_seconds(), 1.5);
  EXPECT_EQ(work.read_bytes(), 4096u);
  EXPECT_EQ(work.gpu(), 3u);
  EXPECT_FALSE(work.has_written_bytes());
  EXPECT_FALSE(work.has_memory_stalled_seconds());
  EXPECT_FALSE(work_of(RankReading()).has_gpu());
}

TEST(Performance, OfAHostHasWhatIsKnown) {
  HostReading reading{.time = std::chrono::seconds(7), .figures = {}, .gpus = {}};
  reading.figures.set(HostFigure::kCpus, 64);
  reading.figures.set(HostFigure::kSent, 0);
  GpuReading gpu{.number = 2, .name = "Test", .figures = {}};
  gpu.figures.set(GpuFigure::kMemoryUsed, 1e9);
  gpu.figures.set(GpuFigure::kClockLimits, 0x40);
  reading.gpus = {gpu};
  job::v1::Host host;
  add_use(reading, host);
  EXPECT_EQ(host.use().time_seconds(), 7);
  EXPECT_EQ(host.use().cpus(), 64u);
  EXPECT_TRUE(host.use().has_sent_bytes());
  EXPECT_FALSE(host.use().has_received_bytes());
  EXPECT_FALSE(host.has_clock_error_seconds());
  ASSERT_EQ(host.gpus_size(), 1);
  EXPECT_EQ(host.gpus(0).used_memory_bytes(), 1000000000u);
  EXPECT_FALSE(host.gpus(0).has_power_watts());
  EXPECT_EQ(host.gpus(0).clock_limits(0), "heat");
}

TEST(Performance, RanksThatDoNotExistAreLeftOut) {
  EXPECT_EQ(summary_of(performance_of(summary()), 1).waited_for.size(), 1u);
  job::v1::Performance performance;
  performance.add_waited_for()->mutable_member()->set_index(0xFFFFFFFF);
  performance.add_shares()->set_name("unknown");
  EXPECT_TRUE(summary_of(performance, 2).waited_for.empty());
}

TEST(Performance, StatusShowsIt) {
  job::v1::Snapshot snapshot;
  for (const char* const host : {"h1", "h2"}) {
    snapshot.add_hosts()->set_name(host);
    snapshot.add_ranks()->set_host(host);
  }
  *snapshot.mutable_performance() = performance_of(summary());
  const std::string text = status_text(snapshot);
  EXPECT_NE(text.find("\n420 steps of 10.00 ms on 2 ranks, 35824 samples/s, 0.001 TFLOP/s (MFU 50 "
                      "%)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("waiting 20 % (19 % for rank 1 on h2: it was stopped, 1 % for rank 0 on h1)"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace paceline::launcher
