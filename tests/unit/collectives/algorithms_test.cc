// Every row of the table: proven, priced, repeatable.
#include "collectives/algo/algorithms.h"

#include <bit>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "collectives/algo/parts.h"
#include "collectives/plan/cost.h"
#include "collectives/proof/check.h"
#include "tests/harness/plan_form.h"

namespace paceline {
namespace {

std::string words(const PlanRequest& request) {
  return std::string(name(request.kind)) + ", " + std::to_string(request.ranks) + " ranks, root " +
         std::to_string(request.root) + ", count " + std::to_string(request.count) +
         " in segments of " + std::to_string(request.segment_count);
}

class EveryAlgorithm : public ::testing::TestWithParam<Algorithm> {
 protected:
  void expect_proven(const PlanRequest& request) {
    const std::vector<PlanRequest> requests = testing::uneven_requests(request);
    const std::vector<Plan> plans = plans_of(GetParam(), requests);
    const Status status = check(plans, requests);
    EXPECT_TRUE(status.ok()) << words(request) << ": " << status.to_string();
    const bool in_order = check_rank_order(plans, requests).ok();
    EXPECT_TRUE(in_order || !GetParam().in_rank_order) << words(request);
    const Result<Cost> measured = measure(plans, request.hosts);
    ASSERT_TRUE(measured.ok()) << words(request) << ": " << measured.status().to_string();
    const Cost formula = GetParam().cost(requests.front());
    EXPECT_TRUE(testing::is_price(formula, *measured, request.kind))
        << words(request) << ": rounds " << formula.rounds << " and " << measured->rounds
        << ", messages " << formula.messages << " and " << measured->messages << ", sent "
        << formula.count_sent << " and " << measured->count_sent << ", reduced "
        << formula.count_reduced << " and " << measured->count_reduced << ", between hosts "
        << formula.count_between_hosts << " and " << measured->count_between_hosts;
  }

  PlanRequest request(int ranks, std::size_t count, std::size_t segment_count) const {
    PlanRequest asked{.kind = GetParam().kind, .ranks = ranks, .segment_count = segment_count};
    asked.count = testing::count_of_call(asked, count);
    return asked;
  }
};

// All numbers up to 64, and more sizes: tests/acceptance/first_light/plan_checker.
constexpr int kRanks[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 17, 31, 32, 33, 64};

TEST_P(EveryAlgorithm, IsProvenAndPriced) {
  const std::pair<std::size_t, std::size_t> sizes[] = {{0, 1},   {1, 1},   {13, 2},
                                                       {64, 64}, {97, 50}, {1009, 100}};
  for (const int ranks : kRanks) {
    for (const auto& [count, segment_count] : sizes) {
      if (count < 1000 || ranks < 32) expect_proven(request(ranks, count, segment_count));
      if (HasFailure()) return;
    }
  }
}

TEST_P(EveryAlgorithm, IsProvenForEveryRoot) {
  for (int ranks = 1; ranks <= 17; ++ranks) {
    PlanRequest asked = request(ranks, 13, 5);
    const int roots = has_root(asked.kind) ? ranks : 1;
    for (asked.root = 0; asked.root < roots; ++asked.root) expect_proven(asked);
  }
}

TEST_P(EveryAlgorithm, IsProvenWithManySegments) {
  for (const int ranks : {2, 3, 5, 8, 11, 16}) expect_proven(request(ranks, 3001, 7));
}

// All maps: tests/acceptance/several_hosts/host_maps_are_proven.
TEST_P(EveryAlgorithm, IsProvenWhereRanksShareHosts) {
  for (const std::vector<int>& hosts :
       {std::vector{0, 0, 1, 1}, {0, 0, 0, 1}, {0, 1, 0, 1}, {0, 1, 1, 1, 2, 0}, {0, 0, 0, 0}}) {
    for (const auto& [count, segment_count] : {std::pair{1, 1}, {2, 1}, {13, 2}, {1009, 50}}) {
      PlanRequest asked = request(static_cast<int>(hosts.size()), static_cast<std::size_t>(count),
                                  static_cast<std::size_t>(segment_count));
      asked.hosts = &hosts;
      expect_proven(asked);
    }
  }
}

TEST_P(EveryAlgorithm, MakesTheSamePlanAgain) {
  const PlanRequest asked = testing::uneven_requests(request(6, 97, 5))[4];
  EXPECT_EQ(GetParam().plan(asked), GetParam().plan(asked));
}

TEST_P(EveryAlgorithm, NeedsScratchForAFewSegmentsOnly) {
  if (GetParam().name == "gather_reduce") return;  // for short arrays, of which it has all
  for (const int ranks : {1, 2, 3, 8, 13}) {
    for (const Plan& plan :
         plans_of(GetParam(), testing::uneven_requests(request(ranks, 10000, 10)))) {
      EXPECT_LE(plan.scratch_count, 10 * ScratchSlots::kSlots);
    }
  }
}

TEST_P(EveryAlgorithm, CopiesNothingThatItReduces) {
  // A short array is copied sooner than a message is sent.
  if (!reduces(GetParam().kind) || GetParam().name == "gather_reduce") return;
  for (const int ranks : {2, 3, 4, 7}) {
    for (const Plan& plan : plans_of(GetParam(), testing::uneven_requests(request(ranks, 50, 7)))) {
      for (const Step& step : plan.steps) {
        EXPECT_NE(step.kind, StepKind::kCopy) << "rank " << plan.rank;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, EveryAlgorithm, ::testing::ValuesIn(algorithms()),
                         [](const auto& row) {
                           return std::string(name(row.param.kind)) + "_" +
                                  std::string(row.param.name);
                         });

TEST(Algorithms, NamesAreUniqueWithinAnOperation) {
  std::set<std::pair<OperationKind, std::string_view>> rows;
  for (const Algorithm& algorithm : algorithms()) {
    EXPECT_TRUE(rows.emplace(algorithm.kind, algorithm.name).second) << algorithm.name;
  }
}

TEST(Algorithms, EveryOperationHasOne) {
  for (const OperationKind kind : kOperationKinds) {
    if (kind == OperationKind::kClose) continue;  // carried out as an all_reduce
    if (!is_collective(kind)) continue;
    bool found = false;
    for (const Algorithm& algorithm : algorithms()) found = found || algorithm.kind == kind;
    EXPECT_TRUE(found) << name(kind);
  }
}

TEST(Algorithms, CostsAreThoseOfThePapers) {
  const PlanRequest request{.kind = OperationKind::kAllReduce, .ranks = 8, .count = 8000};
  for (const Algorithm& algorithm : algorithms()) {
    const Cost cost = algorithm.cost(request);
    if (algorithm.name == "ring") {
      EXPECT_EQ(cost.rounds, 14u);
      EXPECT_EQ(cost.count_sent, 14000u);
    } else if (algorithm.name == "recursive_doubling") {
      EXPECT_EQ(cost.rounds, 3u);
      EXPECT_EQ(cost.count_sent, 24000u);
    } else if (algorithm.kind == OperationKind::kAllReduce && algorithm.name == "direct") {
      EXPECT_EQ(cost.rounds, 2u);
      EXPECT_EQ(cost.count_sent, 14000u);
    }
  }
}

Cost cost_of(std::string_view name, const PlanRequest& request) {
  return find_algorithm(request.kind, name)->cost(request);
}

TEST(Algorithms, CirculantTakesAsManyMessagesAsRoundsAndOneForTheEndOfTheArray) {
  for (const int ranks : {6, 8, 21, 64, 1000}) {
    const Cost cost = cost_of("circulant", {.kind = OperationKind::kReduceScatter,
                                            .ranks = ranks,
                                            .count = 10,
                                            .segment_count = 65536});
    const auto rounds = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(ranks - 1)));
    EXPECT_LE(cost.rounds, rounds) << ranks;
    EXPECT_GE(cost.messages, rounds + 1) << ranks;
    EXPECT_LE(cost.messages, rounds + 2) << ranks;
    EXPECT_EQ(cost.count_sent, 10 * static_cast<std::size_t>(ranks - 1));
    EXPECT_EQ(cost.count_reduced, cost.count_sent);
  }
}

}  // namespace
}  // namespace paceline
