#include "collectives/algo/selector.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/harness/plan_form.h"

namespace paceline {
namespace {

constexpr std::size_t kFloatBytes = 4;

PlanRequest all_reduce(int ranks, std::size_t count) {
  return {
      .kind = OperationKind::kAllReduce, .ranks = ranks, .count = count, .segment_count = 65536};
}

std::string chosen(const PlanRequest& request, const SelectOptions& options = {}) {
  const auto algorithm = select(request, kFloatBytes, options);
  return algorithm.ok() ? std::string((*algorithm)->name) : algorithm.status().to_string();
}

TEST(Selector, ShortArraysGoByRoundsAndLongOnesByBytes) {
  EXPECT_EQ(chosen(all_reduce(8, 1)), "recursive_doubling");
  EXPECT_EQ(chosen(all_reduce(8, 10'000'000)), "ring");
  EXPECT_EQ(chosen(all_reduce(16, 0)), "recursive_doubling");
}

TEST(Selector, ReduceScatterOfManyRanksTakesFewRounds) {
  const auto of = [](int ranks, std::size_t count) {
    return chosen({.kind = OperationKind::kReduceScatter,
                   .ranks = ranks,
                   .count = count,
                   .segment_count = 65536});
  };
  EXPECT_EQ(of(3, 10), "direct") << "as many messages, and each sum is rounded once";
  EXPECT_EQ(of(8, 10), "circulant");
  EXPECT_EQ(of(64, 1000), "circulant");
  EXPECT_EQ(chosen({.kind = OperationKind::kReduceScatter, .ranks = 8, .count = 10},
                   {.forced = "", .in_rank_order = true}),
            "direct");
}

TEST(Selector, LongBroadcastsAndReducesArePipelined) {
  for (const OperationKind kind : {OperationKind::kBroadcast, OperationKind::kReduce}) {
    PlanRequest request{.kind = kind, .ranks = 8, .count = 10, .segment_count = 65536};
    EXPECT_EQ(chosen(request), "binomial") << name(kind);
    request.count = 10'000'000;
    EXPECT_EQ(chosen(request), "chain") << name(kind);
  }
}

TEST(Selector, TheModelMovesTheBorder) {
  const PlanRequest request = all_reduce(8, 10'000);
  EXPECT_EQ(chosen(request, {.model = {.alpha_ns = 1e6, .beta_ns_per_byte = 1}, .forced = {}}),
            "recursive_doubling");
  EXPECT_EQ(chosen(request, {.model = {.alpha_ns = 1, .beta_ns_per_byte = 1}, .forced = {}}),
            "ring");
}

TEST(Selector, PredictsTheMeasurementsThatTheModelComesFrom) {
  PlanRequest request = all_reduce(2, 1 << 20);
  request.segment_count = request.count;
  const auto algorithm = select(request, kFloatBytes);
  ASSERT_TRUE(algorithm.ok());
  EXPECT_NEAR(predicted_ns((*algorithm)->cost(request), kFloatBytes, kTcpLoopback), 1298e3, 10e3);
}

TEST(Selector, AllRanksChooseAlike) {
  for (const std::size_t count : {0u, 7u, 5000u, 100000u, 5000000u}) {
    PlanRequest request = all_reduce(11, count);
    const std::string first = chosen(request);
    for (request.rank = 0; request.rank < request.ranks; ++request.rank) {
      EXPECT_EQ(chosen(request), first);
    }
  }
}

TEST(Selector, RankOrderLimitsReductionsOnly) {
  EXPECT_EQ(chosen(all_reduce(8, 1), {.forced = "", .in_rank_order = true}), "gather_reduce");
  EXPECT_EQ(chosen(all_reduce(8, 1'000'000), {.forced = "", .in_rank_order = true}), "direct");
  EXPECT_EQ(chosen({.kind = OperationKind::kBroadcast, .ranks = 8}, {.in_rank_order = true}),
            "binomial");
  const auto ring =
      select(all_reduce(8, 1), kFloatBytes, {.forced = "ring", .in_rank_order = true});
  ASSERT_FALSE(ring.ok());
  EXPECT_EQ(ring.status().code(), Code::kInvalidArgument);
  EXPECT_NE(ring.status().text().find("placement_stable"), std::string::npos);
}

TEST(Selector, AForcedNameWinsWhereTheOperationHasIt) {
  EXPECT_EQ(chosen(all_reduce(8, 1), {.forced = "ring"}), "ring");
  EXPECT_EQ(chosen({.kind = OperationKind::kBroadcast, .ranks = 8}, {.forced = "ring"}),
            "binomial");
  EXPECT_EQ(chosen({.kind = OperationKind::kBarrier, .ranks = 8}, {.forced = "ring"}),
            "dissemination");
}

TEST(Selector, AForcedNameThatNothingHasIsRefusedWithTheNamesThereAre) {
  for (const OperationKind kind : {OperationKind::kAllReduce, OperationKind::kBarrier}) {
    const auto algorithm = select({.kind = kind, .ranks = 2}, kFloatBytes, {.forced = "rings"});
    ASSERT_FALSE(algorithm.ok());
    EXPECT_EQ(algorithm.status().code(), Code::kInvalidArgument);
    for (const Algorithm& row : algorithms()) {
      EXPECT_NE(algorithm.status().text().find(row.name), std::string::npos) << row.name;
    }
  }
}

// 2 hosts with 2 ranks each, as in a job.
TEST(Selector, LongOnesGoBetweenHostsOnce) {
  const std::vector<int> hosts{0, 0, 1, 1};
  PlanRequest request{.kind = OperationKind::kAllReduce, .ranks = 4, .hosts = &hosts};
  const auto of = [&](std::size_t count) {
    request.count = count;
    request.segment_count = 65536;
    return std::string(select(request, kFloatBytes, {}).value()->name);
  };
  EXPECT_EQ(of(1), "recursive_doubling");
  EXPECT_EQ(of(1 << 20), "hierarchical");
  EXPECT_EQ(of(16 << 20), "hierarchical");
}

// 16 hosts with 8 ranks each. Where they come in turn, bruck passes most blocks within hosts; where
// they do not, a chain of ranks goes through each line once.
TEST(Selector, LongOnesOfManyRanksGoBetweenHostsOnce) {
  std::vector<int> hosts_in_turn, one_after_the_other;
  for (int rank = 0; rank < 128; ++rank) {
    hosts_in_turn.push_back(rank % 16);
    one_after_the_other.push_back(rank / 8);
  }
  for (const OperationKind kind :
       {OperationKind::kAllReduce, OperationKind::kReduceScatter, OperationKind::kAllGather,
        OperationKind::kBroadcast, OperationKind::kReduce}) {
    const std::vector<int>& hosts = has_root(kind) ? hosts_in_turn : one_after_the_other;
    PlanRequest request{.kind = kind, .ranks = 128, .segment_count = 65536, .hosts = &hosts};
    request.count = testing::count_of_call(request, 64 << 20);
    EXPECT_EQ(chosen(request), "hierarchical") << name(kind);
    if (!reduces(kind)) continue;
    EXPECT_EQ(chosen(request, {.forced = "", .in_rank_order = true}), "direct") << name(kind);
  }
}

// 2 hosts with 2 ranks each, and 8000 elements in each array.
TEST(Selector, KnowsWhatAHostSends) {
  const std::vector<int> hosts{0, 0, 1, 1};
  const auto of = [&](OperationKind kind, std::string_view name) {
    PlanRequest request{.kind = kind, .ranks = 4, .segment_count = 100, .hosts = &hosts};
    request.count = testing::count_of_call(request, 8000);
    return find_algorithm(kind, name)->cost(request).count_between_hosts;
  };
  EXPECT_EQ(of(OperationKind::kAllReduce, "ring"), 12000U)
      << "one of two ranks has its neighbour on the other host";
  EXPECT_EQ(of(OperationKind::kAllReduce, "recursive_doubling"), 16000U);
  EXPECT_EQ(of(OperationKind::kAllReduce, "hierarchical"), 8000U) << "2 (h - 1) / h of the array";
  EXPECT_EQ(of(OperationKind::kReduceScatter, "direct"), 8000U);
  EXPECT_EQ(of(OperationKind::kReduceScatter, "hierarchical"), 4000U) << "(h - 1) / h";
  EXPECT_EQ(of(OperationKind::kAllGather, "bruck"), 10000U);
  EXPECT_EQ(of(OperationKind::kAllGather, "hierarchical"), 4000U);
  EXPECT_EQ(of(OperationKind::kBroadcast, "hierarchical"), 8000U);
  EXPECT_EQ(of(OperationKind::kReduce, "hierarchical"), 8000U);
}

// A round between hosts costs more than the messages within them.
TEST(Selector, BarriersOfManyRanksGoBetweenHostsByOneRankOfEach) {
  std::vector<int> hosts;
  for (int rank = 0; rank < 128; ++rank) hosts.push_back(rank / 8);
  EXPECT_EQ(chosen({.kind = OperationKind::kBarrier, .ranks = 128, .hosts = &hosts}),
            "hierarchical");
  hosts = {0, 0, 1, 1};
  EXPECT_EQ(chosen({.kind = OperationKind::kBarrier, .ranks = 4, .hosts = &hosts}),
            "dissemination");
}

TEST(Selector, OneRankNeedsNoTime) {
  for (const Algorithm& algorithm : algorithms()) {
    const PlanRequest request{.kind = algorithm.kind, .ranks = 1, .count = 100};
    EXPECT_EQ(algorithm.cost(testing::uneven_requests(request).front()), Cost{}) << algorithm.name;
  }
}

TEST(CheckForced, RefusesWhatSelectWouldRefuseLater) {
  EXPECT_TRUE(check_forced({}).ok());
  EXPECT_TRUE(check_forced({.forced = "", .in_rank_order = true}).ok());
  EXPECT_TRUE(check_forced({.forced = "ring"}).ok());
  EXPECT_TRUE(check_forced({.forced = "bruck", .in_rank_order = true}).ok());
  EXPECT_NE(check_forced({.forced = "bingo"}).text().find("no operation has an algorithm"),
            std::string::npos);
  const Status ring = check_forced({.forced = "ring", .in_rank_order = true});
  EXPECT_EQ(ring.code(), Code::kInvalidArgument);
  EXPECT_NE(ring.text().find("placement_stable"), std::string::npos) << ring.to_string();
}

}  // namespace
}  // namespace paceline
