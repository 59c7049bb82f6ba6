#include "collectives/failure/binomial_graph.h"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace paceline {
namespace {

// Ranks that hear of what `source` says, and in how many hops, when `lost` neither hear nor speak.
struct Spread {
  std::set<int> reached;
  int hops = 0;
};

Spread spread_from(int source, int ranks, const std::set<int>& lost) {
  Spread spread{.reached = {source}};
  std::vector<int> frontier = {source};
  while (true) {
    std::vector<int> next;
    for (const int rank : frontier) {
      for (const int neighbour : binomial_graph_neighbours(rank, ranks)) {
        if (lost.contains(neighbour)) continue;
        if (spread.reached.insert(neighbour).second) next.push_back(neighbour);
      }
    }
    if (next.empty()) return spread;
    frontier = next;
    ++spread.hops;
  }
}

int floor_log2(int value) {
  int log = 0;
  while (value >>= 1) ++log;
  return log;
}

TEST(BinomialGraph, OneRankHasNoNeighbours) {
  EXPECT_TRUE(binomial_graph_neighbours(0, 1).empty());
}

TEST(BinomialGraph, PowersOfTwoApart) {
  EXPECT_EQ(binomial_graph_neighbours(0, 8), (std::vector<int>{1, 2, 4, 6, 7}));
  EXPECT_EQ(binomial_graph_neighbours(4, 5), (std::vector<int>{0, 1, 2, 3}));
}

TEST(BinomialGraph, NeighboursAreMutual) {
  for (const int ranks : {2, 3, 7, 16, 100}) {
    for (int rank = 0; rank < ranks; ++rank) {
      for (const int neighbour : binomial_graph_neighbours(rank, ranks)) {
        const auto back = binomial_graph_neighbours(neighbour, ranks);
        ASSERT_TRUE(std::find(back.begin(), back.end(), rank) != back.end())
            << rank << " and " << neighbour << " of " << ranks;
        ASSERT_NE(neighbour, rank);
      }
    }
  }
}

TEST(BinomialGraph, NewsReachesAllInLogarithmicTime) {
  for (int ranks = 1; ranks <= 200; ++ranks) {
    const Spread spread = spread_from(ranks / 3, ranks, {});
    ASSERT_EQ(spread.reached.size(), static_cast<std::size_t>(ranks));
    ASSERT_LE(spread.hops, floor_log2(ranks) + 1) << ranks;
  }
}

// Any two ranks lost, from any other: everybody who is left still hears.
TEST(BinomialGraph, TwoLostRanksKeepNobodyFromTheNews) {
  for (const int ranks : {4, 5, 8, 11, 16, 31}) {
    for (int first = 0; first < ranks; ++first) {
      for (int second = first + 1; second < ranks; ++second) {
        const int source = first != 0 ? 0 : second != 1 ? 1 : 2;
        const Spread spread = spread_from(source, ranks, {first, second});
        ASSERT_EQ(spread.reached.size(), static_cast<std::size_t>(ranks - 2))
            << ranks << " without " << first << " and " << second;
      }
    }
  }
}

}  // namespace
}  // namespace paceline
