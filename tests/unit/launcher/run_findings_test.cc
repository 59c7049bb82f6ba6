#include "launcher/tools/report/run_findings.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "launcher/tools/report/operation_speed.h"

namespace paceline::launcher {
namespace {

// 100 s of steps on 4 ranks of two hosts.
RunEntry run_of(std::map<std::string, double> shares) {
  return {.id = "0123456789",
          .seconds = 101,
          .ranks = 4,
          .hosts = {"h1", "h2"},
          .command = "./train",
          .figures = RunFigures{.has_steps = true,
                                .steps = 1000,
                                .step_seconds = 0.1,
                                .samples_per_s = 640,
                                .efficiency = 0.5,
                                .is_measured = true,
                                .shares = std::move(shares)}};
}

std::vector<std::string> sentences(const RunEntry& run,
                                   const std::optional<RunEntry>& baseline = {}) {
  std::vector<std::string> all;
  for (const RunFinding& one : findings_of(run, baseline)) all.push_back(one.what);
  return all;
}

TEST(RunFindings, AHealthyRunHasNothing) {
  EXPECT_EQ(sentences(run_of({{"compute", 0.99}, {"moving data", 0.01}})),
            std::vector<std::string>{"Nothing stands out: compute is 99 % of the time"});
}

TEST(RunFindings, TheMostExpensiveIsFirst) {
  RunEntry run = run_of(
      {{"compute", 0.2}, {"moving data", 0.25}, {"waiting", 0.4}, {"input", 0.1}, {"other", 0.05}});
  run.figures->waited_for = {
      {.rank = 3, .host = "h2", .share = 0.3, .cause = "its control group throttled its CPUs"},
      {.rank = 1, .host = "h1", .share = 0.06, .cause = ""}};
  // A barrier and close move no data.
  run.figures->operations = {{.ranks = 4, .kind = OperationKind::kClose, .exposed_seconds = 6},
                             {.ranks = 4, .kind = OperationKind::kBarrier, .exposed_seconds = 5},
                             {.group = "dp",
                              .ranks = 4,
                              .kind = OperationKind::kAllReduce,
                              .count = 100,
                              .bytes = 1'200'000'000,
                              .seconds = 4.5,
                              .exposed_seconds = 4}};
  EXPECT_EQ(sentences(run),
            (std::vector<std::string>{
                "30 % of the time was lost to waiting for rank 3 on h2: its control group "
                "throttled its CPUs",
                "Moving data costs 25 % of the time: all_reduce of group dp has the most "
                "exposed time, for 1.2 GB at 0.4 GB/s (busbw)",
                "10 % of the time was lost to waiting for ranks, most of it for rank 1 on h1"}));
  EXPECT_NE(findings_of(run, {})[0].advice.find("CPU quota"), std::string::npos);
}

TEST(RunFindings, WaitsForRanksInTurnNameNoRank) {
  RunEntry run = run_of({{"compute", 0.8}, {"waiting", 0.2}});
  for (int rank = 0; rank < 4; ++rank)
    run.figures->waited_for.push_back({.rank = rank, .host = "h1", .share = 0.05, .cause = ""});
  EXPECT_EQ(sentences(run)[0],
            "20 % of the time was lost to waiting for ranks, now for one and now for another");
}

TEST(RunFindings, ManySmallOperationsAreToBeCombined) {
  RunEntry run = run_of({{"compute", 0.8}, {"moving data", 0.2}});
  run.figures->operations = {{.ranks = 4,
                              .kind = OperationKind::kAllReduce,
                              .count = 50'000,
                              .bytes = 50'000 * 4000,
                              .seconds = 20,
                              .exposed_seconds = 20}};
  EXPECT_NE(findings_of(run, {})[0].advice.find("Combine small operations: each moves 4 kB"),
            std::string::npos);
  // Without steps nobody knows how often.
  run.figures->has_steps = false;
  run.figures->steps = 0;
  EXPECT_EQ(findings_of(run, {})[0].advice.find("Combine"), std::string::npos);
}

TEST(RunFindings, ASlowLinkExplainsMovingData) {
  RunEntry run = run_of({{"compute", 0.8}, {"moving data", 0.2}});
  run.figures->slow_links = {
      {.link = {.from = "h1", .to = "h2", .bytes = 6'000'000, .busy_seconds = 1}, .usual = 24e6}};
  EXPECT_EQ(sentences(run)[0],
            "Moving data costs 20 % of the time; slow link h1 to h2: 48 Mbit/s, others 192 Mbit/s");
  EXPECT_NE(findings_of(run, {})[0].advice.find("paceline check"), std::string::npos);
}

TEST(RunFindings, InputOtherAndTheStartCount) {
  RunEntry run = run_of({{"compute", 0.6}, {"input", 0.25}, {"other", 0.15}});
  run.seconds = 140;
  run.restarts = 2;
  EXPECT_EQ(sentences(run),
            (std::vector<std::string>{
                "40 s of the 2.3 min of the run are not part of its steps: the ranks were started "
                "again 2 times",
                "Input takes 25 % of the time",
                "Work outside of computation, such as checkpoints and logs, takes 15 % of the "
                "time"}));
}

TEST(RunFindings, RanksWithoutCpusAreFound) {
  RunEntry run = run_of({{"compute", 1.0}});
  run.figures->ranks = {{.queued = 0.3}, {.queued = 0.4}, {.queued = 0.0}, {.queued = 0.4}};
  EXPECT_EQ(sentences(run)[0], "Most ranks were ready to run but had no CPU for 30 % of the time");
  for (RankEvidence& rank : run.figures->ranks) rank.throttled = rank.queued;
  EXPECT_NE(sentences(run)[0].find("by a CPU quota"), std::string::npos);
  run.figures->ranks = {{.queued = 0.4}, {}};
  EXPECT_EQ(sentences(run)[0], "Nothing stands out: compute is 100 % of the time");
}

TEST(RunFindings, SlowerComputationNeedsTheBaseline) {
  const RunEntry run = run_of({{"compute", 0.9}, {"moving data", 0.0}});
  RunEntry baseline = run_of({{"compute", 1.0}});
  baseline.id = "abcdef0123";
  EXPECT_EQ(sentences(run, baseline)[0],
            "Slower computation costs 40 % of the time: a sample takes longer to compute than in "
            "the one-rank run abcdef01");
  EXPECT_EQ(sentences(run)[0], "Nothing stands out: compute is 90 % of the time");
}

TEST(RunFindings, AnEstimateIsSaid) {
  RunEntry run = run_of({{"compute", 1.0}});
  run.figures->is_measured = false;
  EXPECT_EQ(sentences(run)[1], "The efficiency of 50 % is an estimate: compute time / step time");
  run.figures->samples_per_s = 0;
  EXPECT_NE(sentences(run)[1].find("marks no samples"), std::string::npos);
  run.figures->has_steps = false;
  EXPECT_NE(sentences(run)[1].find("marks no steps"), std::string::npos);
  run.ranks = 1;
  run.figures->has_steps = true;
  EXPECT_EQ(sentences(run).size(), 1u);
}

TEST(RunFindings, AChangeIsFound) {
  RunEntry run = run_of({{"compute", 1.0}});
  for (int i = 0; i < 40; ++i) {
    const double steps = i < 20 ? 100 : 80;
    run.figures->blocks.push_back({.steps = steps, .parts = {2.5, 0, 0, 0}});
  }
  const RunFinding slower = findings_of(run, {})[0];
  EXPECT_EQ(slower.what, "Steps became 25 % slower after 50 s of steps");
  EXPECT_NEAR(slower.lost_s, 10, 0.1);
  EXPECT_NE(slower.advice.find("compute"), std::string::npos);
}

TEST(OperationSpeed, IsThatOfNcclTests) {
  OperationSummary one{.ranks = 4,
                       .kind = OperationKind::kAllReduce,
                       .count = 10,
                       .bytes = 4'000'000'000,
                       .seconds = 2,
                       .exposed_seconds = 1};
  EXPECT_DOUBLE_EQ(speed_of(one)->algbw_gbps, 2);
  EXPECT_DOUBLE_EQ(*speed_of(one)->busbw_gbps, 3);
  EXPECT_DOUBLE_EQ(speed_of(one)->bytes, 4e8);
  one.kind = OperationKind::kAllGather;  // the record has the bytes of a block
  EXPECT_DOUBLE_EQ(speed_of(one)->algbw_gbps, 8);
  EXPECT_DOUBLE_EQ(*speed_of(one)->busbw_gbps, 6);
  one.kind = OperationKind::kAllGatherV;
  EXPECT_DOUBLE_EQ(speed_of(one)->algbw_gbps, 2);
  EXPECT_FALSE(speed_of(one)->busbw_gbps);
  one.kind = OperationKind::kExchange;
  EXPECT_FALSE(speed_of(one));
  one.kind = OperationKind::kBarrier;
  one.bytes = 0;
  EXPECT_FALSE(speed_of(one));
}

}  // namespace
}  // namespace paceline::launcher
