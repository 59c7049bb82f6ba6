#include "topology/placement/host/assignment.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "comm/base/random.h"

namespace paceline::topology {
namespace {

using Costs = std::vector<std::vector<double>>;

double sum_of(const Costs& costs, const std::vector<int>& columns) {
  double sum = 0;
  for (std::size_t row = 0; row < costs.size(); ++row)
    sum += costs[row][static_cast<std::size_t>(columns[row])];
  return sum;
}

double least_cost(const Costs& costs) {
  std::vector<int> columns(costs.front().size());
  std::iota(columns.begin(), columns.end(), 0);
  double least = std::numeric_limits<double>::infinity();
  do {
    least = std::min(least, sum_of(costs, columns));
  } while (std::ranges::next_permutation(columns).found);
  return least;
}

TEST(Assignment, IsTheCheapestOfAll) {
  Random random(7);
  for (std::size_t rows = 1; rows <= 5; ++rows) {
    for (std::size_t columns = rows; columns <= 6; ++columns) {
      for (int repetition = 0; repetition < 20; ++repetition) {
        Costs costs(rows, std::vector<double>(columns));
        for (auto& row : costs)
          for (double& cost : row) cost = static_cast<double>(random.below(9)) - 2;
        const std::vector<int> chosen = cheapest_assignment(costs);
        std::vector<int> sorted = chosen;
        std::ranges::sort(sorted);
        EXPECT_EQ(std::ranges::adjacent_find(sorted), sorted.end()) << "each column once";
        EXPECT_DOUBLE_EQ(sum_of(costs, chosen), least_cost(costs));
      }
    }
  }
}

TEST(Assignment, OfNothingIsNothing) { EXPECT_TRUE(cheapest_assignment({}).empty()); }

}  // namespace
}  // namespace paceline::topology
