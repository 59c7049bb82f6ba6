#include "launcher/tools/report/report_page.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "launcher/tools/report/report_charts.h"
#include "launcher/tools/report/report_words.h"
#include "tests/unit/launcher/noisy_run.h"

namespace paceline::launcher {
namespace {

constexpr std::size_t kMostBytes = 400'000;

bool has(const std::string& page, const std::string& words) {
  return page.find(words) != std::string::npos;
}

// As full as a record can be, by somebody who wants to break the page.
RunEntry full_run(const std::string& evil) {
  RunEntry run = NoisyRun{.blocks = 63}.entry("0123456789abcdef");
  run.command = evil + std::string(100'000, 'x');
  run.directory = evil;
  run.hosts.assign(5000, evil);
  RunFigures& figures = *run.figures;
  for (int i = 0; i < 64; ++i) {
    figures.operations.push_back({.group = evil + std::string(1000, 'g'),
                                  .ranks = 64,
                                  .kind = OperationKind::kAllReduce,
                                  .count = 1000,
                                  .bytes = 1 << 30,
                                  .seconds = 10,
                                  .exposed_seconds = 5});
    figures.waited_for.push_back(
        {.rank = i, .host = evil, .share = 0.1, .cause = evil + std::string(1000, 'c')});
    HostSummary host{.host = evil + std::string(1000, 'h'), .figures = {}, .gpus = {}};
    for (std::size_t kind = 0; kind < kHostFigures; ++kind)
      host.figures.set(static_cast<HostFigure>(kind), 1e9);
    GpuReading gpu{.number = i, .name = evil, .figures = {}};
    for (std::size_t kind = 0; kind < kGpuFigures; ++kind)
      gpu.figures.set(static_cast<GpuFigure>(kind), 255);
    host.gpus = {gpu};
    figures.hosts.push_back(host);
    figures.ranks.push_back({.waited_for = 0.1,
                             .compute = 0.5,
                             .input = 0.1,
                             .other = 0.1,
                             .running = 0.5,
                             .queued = 0.2,
                             .throttled = 0.1,
                             .stopped = 0.1,
                             .blocked = 0.1,
                             .major_faults_per_s = 100,
                             .resident_kib = 1e6});
  }
  return run;
}

TEST(ReportPage, NothingOfTheRecordIsMarkup) {
  const std::string evil = "<script>alert(\"1\")</script>&'\x1b[2J";
  const RunEntry run = full_run(evil);
  for (const std::string& page :
       {report_page({.run = run, .baseline = {}}),
        report_page({.run = run, .baseline = {}}, {.run = run, .baseline = {}},
                    compare_runs(run, run))}) {
    EXPECT_FALSE(has(page, "<script"));
    EXPECT_FALSE(has(page, "\x1b"));
    EXPECT_TRUE(has(page, "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;"));
    EXPECT_LT(page.size(), kMostBytes);
    EXPECT_TRUE(page.ends_with("</html>\n"));
  }
}

TEST(ReportPage, NeedsNoNetwork) {
  const RunEntry run = full_run("x");
  const std::string page = report_page({.run = run, .baseline = {}});
  for (const char* const word : {"http://", "https://", "src=", "href=", "url(", "@import"})
    EXPECT_FALSE(has(page, word)) << word;
  EXPECT_TRUE(has(page, "prefers-color-scheme: dark"));
}

TEST(ReportPage, HasFindingsChartsAndTables) {
  const std::string page = report_page({.run = full_run("h1"), .baseline = {}});
  for (const char* const words :
       {"<h2>Findings</h2>", "Where the time went", "Steps over time", "Operations", "busbw GB/s",
        "Ranks", "without CPU", "Hosts", "CPUs busy", "1 GB/s", "GPUs", "power, heat", "Facts",
        "efficiency, estimate"})
    EXPECT_TRUE(has(page, words)) << words;
  EXPECT_FALSE(has(page, "nan"));
  EXPECT_FALSE(has(page, "inf"));
}

TEST(ReportPage, WhatIsKnownOfNoHostHasNoColumn) {
  RunEntry run = NoisyRun{}.entry("a");
  EXPECT_FALSE(has(report_page({.run = run, .baseline = {}}), "<h3>Hosts</h3>"));
  HostSummary host{.host = "h1", .figures = {}, .gpus = {}};
  host.figures.set(HostFigure::kCpuStalled, 0.125);
  run.figures->hosts = {host};
  run.figures->flop_per_s = 1e12;
  run.figures->peak_flop_per_s = 2e12;
  run.figures->mfu = 0.5;
  const std::string page = report_page({.run = run, .baseline = {}});
  EXPECT_TRUE(has(page, "waits for a CPU"));
  EXPECT_TRUE(has(page, "50 % of 2 TFLOP/s a rank"));
  for (const char* const unknown : {"CPUs busy", "disk reads", "clock error", "<h3>GPUs</h3>"})
    EXPECT_FALSE(has(page, unknown)) << unknown;
}

TEST(ReportPage, RanksThatOthersWaitForAreFirst) {
  RunEntry run = full_run("h1");
  run.figures->ranks[7].waited_for = 0.3;
  const std::string page = report_page({.run = run, .baseline = {}});
  const auto row_of = [&page](int rank) {
    return page.find("<tr><td>" + std::to_string(rank) + " on h1");
  };
  ASSERT_NE(row_of(7), std::string::npos);
  EXPECT_LT(row_of(7), row_of(0));
  EXPECT_LT(row_of(0), row_of(6));
}

TEST(ReportPage, AxesOfAnyRangeHaveFewTicks) {
  for (const double top_s : {0.0, 1e-320, 1.0, 1e300}) {
    const std::string svg = steps_chart({{.steps = 1, .parts = {1e-9}}}, top_s);
    EXPECT_LT(svg.size(), 10'000u) << top_s;
  }
}

TEST(ReportPage, ARunWithoutStepsHasAPage) {
  RunEntry run{.id = "a", .exit_code = 9, .ranks = 1, .figures = RunFigures{}};
  const std::string page = report_page({.run = run, .baseline = {}});
  EXPECT_TRUE(has(page, "The program marks no steps"));
  EXPECT_TRUE(has(page, "ended with exit code 9"));
  EXPECT_FALSE(has(page, "Steps over time"));
  EXPECT_FALSE(has(page, "nan"));
}

TEST(ReportPage, DifferencesAreFirst) {
  const RunEntry first = NoisyRun{.seed = 1, .noise = 0.005}.entry("aaaa");
  const RunEntry second = NoisyRun{.seed = 2, .noise = 0.005, .compute_s = 0.01}.entry("bbbb");
  const std::string page = report_page(
      {.run = first, .baseline = {}}, {.run = second, .baseline = {}}, compare_runs(first, second));
  const std::size_t differs = page.find("data-differs=\"step time\"");
  ASSERT_NE(differs, std::string::npos);
  EXPECT_LT(differs, page.find("<h2>Run aaaa"));
  EXPECT_TRUE(has(page, "data-differs=\"compute\""));
  EXPECT_FALSE(has(page, "data-differs=\"input\""));
  const std::string equal = report_page({.run = first, .baseline = {}},
                                        {.run = first, .baseline = {}}, compare_runs(first, first));
  EXPECT_TRUE(has(equal, "No difference is beyond noise"));
  EXPECT_FALSE(has(equal, "data-differs"));
}

TEST(ReportWords, HaveThreeDigits) {
  EXPECT_EQ(share_words(0.1234), "12 %");
  EXPECT_EQ(share_words(0.0042), "0.4 %");
  EXPECT_EQ(share_words(0.0001), "0 %");
  EXPECT_EQ(change_words(-0.02), "−2 %");
  EXPECT_EQ(step_words(0.0123456), "12.3 ms");
  EXPECT_EQ(step_words(0.9999), "1000 ms");
  EXPECT_EQ(step_words(2.5e-5), "25 us");
  EXPECT_EQ(step_words(12.345), "12.3 s");
  EXPECT_EQ(duration_words(35.2), "35 s");
  EXPECT_EQ(duration_words(480), "8.0 min");
  EXPECT_EQ(duration_words(9000), "2.5 h");
  EXPECT_EQ(bytes_words(1.2e9), "1.2 GB");
  EXPECT_EQ(bytes_words(4000), "4 kB");
  EXPECT_EQ(number_words(48123.4), "48123");
  EXPECT_EQ(html("a\"<b>\n", 100), "a&quot;&lt;b&gt;?");
  EXPECT_EQ(html(std::string(50, 'a'), 3), "aa…");
}

}  // namespace
}  // namespace paceline::launcher
