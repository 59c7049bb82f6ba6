#include "launcher/tools/measure/tune/tune.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

TEST(Tune, AnOptionThatIsNoneOrWithoutItsValueIsNamed) {
  const std::vector<std::vector<std::string>> wrong = {
      {"--dry"},     {"-n"},       {"-n", "1"},      {"-n", "2,"},
      {"-n", "2,x"}, {"-n", "65"}, {"--output", ""}, {"--starts", "0"}};
  for (const auto& words : wrong) {
    const auto request = parse_tune(words);
    ASSERT_FALSE(request.ok()) << words.front();
    EXPECT_NE(request.status().text().find(words.front()), std::string::npos);
  }
}

TEST(Tune, TakesAListOfRanksAndAFile) {
  const std::vector<std::string> words = {"-n",       "2,16", "--output", "here",
                                          "--starts", "1",    "--dry-run"};
  EXPECT_EQ(*parse_tune(words),
            (TuneRequest{.ranks = {2, 16}, .file = "here", .starts = 1, .keeps = false}));
}

TEST(Tune, MeasuresUpToTwiceTheCpusAndNeverMoreThanAHostHas) {
  EXPECT_EQ(default_ranks(1), (std::vector<int>{2, 4, 8}));
  EXPECT_EQ(default_ranks(8), (std::vector<int>{2, 4, 8, 16}));
  EXPECT_EQ(default_ranks(1000), (std::vector<int>{2, 4, 8, 16, 32, 64}));
}

TEST(Tune, MethodsAreThoseBetweenWhichTheChoiceIs) {
  const int ranks[] = {2, 4};
  const std::vector<TuneTask> tasks = tune_tasks(ranks, 2);
  const auto has = [&](const TuneTask& task) {
    return std::count(tasks.begin(), tasks.end(), task) == 1;
  };
  EXPECT_EQ(tasks.size(), 19u) << "of 4 ranks, 4 kinds have a limit of what is staged";
  EXPECT_TRUE(has({.kind = OperationKind::kAllReduce,
                   .ranks = 2,
                   .limit = shm::Limit::kBuffers,
                   .below = shm::Method::kEager,
                   .beyond = shm::Method::kZeroCopy}));
  EXPECT_TRUE(has({.kind = OperationKind::kAllReduce,
                   .ranks = 4,
                   .limit = shm::Limit::kOrdinary,
                   .below = shm::Method::kGathered,
                   .beyond = shm::Method::kPipelined}));
  EXPECT_TRUE(has({.kind = OperationKind::kAllToAll,
                   .ranks = 4,
                   .limit = shm::Limit::kOrdinary,
                   .below = shm::Method::kEager,
                   .beyond = shm::Method::kPipelined}));
  EXPECT_TRUE(has({.kind = OperationKind::kAllToAll,
                   .ranks = 4,
                   .limit = shm::Limit::kStaged,
                   .below = shm::Method::kPipelined,
                   .beyond = shm::Method::kZeroCopy}));
}

TEST(Tune, SizesOfArraysAreThoseOfWhichARankContributesTheSizes) {
  const auto range = [](OperationKind kind) {
    const TuneTask task{.kind = kind, .ranks = 4};
    const BenchRequest request = bench_of(task);
    EXPECT_EQ(contribution_bytes(task, request.orders.low_bytes), 512u) << name(kind);
    EXPECT_EQ(contribution_bytes(task, request.orders.high_bytes), 32768u) << name(kind);
    return request.orders.low_bytes;
  };
  EXPECT_EQ(range(OperationKind::kAllReduce), 512u);
  EXPECT_EQ(range(OperationKind::kReduceScatter), 512u);
  EXPECT_EQ(range(OperationKind::kAllToAll), 512u);
  EXPECT_EQ(range(OperationKind::kAllGather), 2048u);
  const TuneTask staged{
      .kind = OperationKind::kAllGather, .ranks = 4, .limit = shm::Limit::kStaged};
  const probe::Orders orders = bench_of(staged).orders;
  EXPECT_TRUE(orders.registered);
  EXPECT_EQ(contribution_bytes(staged, orders.low_bytes), std::size_t{16} << 10);
  EXPECT_EQ(contribution_bytes(staged, orders.high_bytes), std::size_t{512} << 10);
}

TEST(Tune, ShortIsWhereTheShortMethodPays) {
  EXPECT_EQ(best_limit({}, 7), 7u);
  const MethodRatio never[] = {{512, 0.9}, {1024, 0.8}};
  EXPECT_EQ(best_limit(never, 1024), 256u);
  const MethodRatio always[] = {{512, 2.0}, {1024, 1.1}};
  EXPECT_EQ(best_limit(always, 256), 1024u);
  const MethodRatio until[] = {{512, 1.6}, {1024, 1.2}, {2048, 0.9}, {4096, 0.7}};
  EXPECT_EQ(best_limit(until, 4096), 1024u);
}

TEST(Tune, OneSizeThatIsOffDoesNotDecide) {
  const MethodRatio low[] = {{512, 1.9}, {1024, 0.1}, {2048, 1.7}, {4096, 1.6}, {8192, 0.6}};
  EXPECT_EQ(best_limit(low, 8192), 4096u);
  const MethodRatio high[] = {{512, 1.5}, {1024, 0.6}, {2048, 0.6}, {4096, 9.0}, {8192, 0.5}};
  EXPECT_EQ(best_limit(high, 4096), 512u);
}

TEST(Tune, WhatIsBuiltInStaysWhereNothingIsMuchBetter) {
  const MethodRatio even[] = {{512, 1.3}, {1024, 1.02}, {2048, 0.99}, {4096, 1.03}};
  for (const std::size_t built_in : {512u, 1024u, 2048u, 4096u, 8192u})
    EXPECT_EQ(best_limit(even, built_in), built_in);
  EXPECT_EQ(best_limit(even, 256), 4096u);
}

TEST(Tune, WhatIsBuiltInIsWhatTheBackendChooses) {
  const TuneTask task{.kind = OperationKind::kAllReduce, .ranks = 2};
  EXPECT_EQ(built_in_size(task, 2), std::size_t{32} << 10);
  const TuneTask in_buffers{
      .kind = OperationKind::kAllReduce, .ranks = 2, .limit = shm::Limit::kBuffers};
  EXPECT_EQ(built_in_size(in_buffers, 2), std::size_t{6} << 10);
}

}  // namespace
}  // namespace paceline::launcher
