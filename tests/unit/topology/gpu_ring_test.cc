#include "topology/placement/host/gpu_ring.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "comm/base/random.h"
#include "tests/unit/topology/small_host.h"
#include "topology/model/finish.h"

namespace paceline::topology {
namespace {

// GPUs with so many links between each two.
HostModel linked(std::size_t gpus, auto links) {
  HostModel host{.sources = {"a test"}};
  for (std::size_t i = 0; i < gpus; ++i) host.gpus.push_back({.name = "GPU" + std::to_string(i)});
  for (int a = 0; a < static_cast<int>(gpus); ++a)
    for (int b = a + 1; b < static_cast<int>(gpus); ++b)
      if (const int count = links(a, b); count > 0)
        host.links.push_back({.gpu = a, .peer = b, .count = count});
  return finish(std::move(host), 0).value();
}

double least_ring(const HostModel& host, std::size_t count) {
  std::vector<int> order(host.gpus.size());
  std::iota(order.begin(), order.end(), 0);
  double least = std::numeric_limits<double>::infinity();
  do {
    const std::vector<int> ring(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count));
    least = std::min(least, ring_cost_us(host, ring, false));
  } while (std::ranges::next_permutation(order).found);
  return least;
}

TEST(GpuRing, IsTheCheapestOfAll) {
  Random random(5);
  for (int repetition = 0; repetition < 30; ++repetition) {
    const std::size_t gpus = 2 + random.below(5);
    const HostModel host =
        linked(gpus, [&](int, int) { return static_cast<int>(random.below(4)); });
    for (std::size_t count = 1; count <= gpus; ++count) {
      const std::vector<int> chosen = choose_gpus(host, static_cast<int>(count), false);
      EXPECT_EQ(std::set<int>(chosen.begin(), chosen.end()).size(), count);
      EXPECT_NEAR(ring_cost_us(host, chosen, false), least_ring(host, count), 1e-6);
    }
  }
}

// Two squares of four with diagonals, joined by four edges: some neighbours by number have no link.
TEST(GpuRing, GoesAroundACubeMeshByItsLinks) {
  constexpr std::array<std::array<int, 8>, 8> kLinks = {{{0, 1, 1, 2, 2, 0, 0, 0},
                                                         {1, 0, 2, 1, 0, 2, 0, 0},
                                                         {1, 2, 0, 2, 0, 0, 1, 0},
                                                         {2, 1, 2, 0, 0, 0, 0, 1},
                                                         {2, 0, 0, 0, 0, 1, 1, 2},
                                                         {0, 2, 0, 0, 1, 0, 2, 1},
                                                         {0, 0, 1, 0, 1, 2, 0, 2},
                                                         {0, 0, 0, 1, 2, 1, 2, 0}}};
  const HostModel host = linked(8, [&](int a, int b) {
    return kLinks[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
  });
  const std::vector<int> ring = choose_gpus(host, 8, false);
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const auto from = static_cast<std::size_t>(ring[i]);
    const auto to = static_cast<std::size_t>(ring[(i + 1) % ring.size()]);
    EXPECT_EQ(kLinks[from][to], 2) << from << " to " << to;
  }
}

TEST(GpuRing, KeepsTheOrderOfNumbersWhereAllAreAlike) {
  const HostModel host = linked(6, [](int, int) { return 12; });
  EXPECT_EQ(choose_gpus(host, 6, false), (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(choose_gpus(host, 2, false), (std::vector<int>{0, 1}));
  EXPECT_EQ(choose_gpus(linked(16, [](int, int) { return 1; }), 16, false).front(), 0);
}

TEST(GpuRing, TakesGpusWithNicsOfTheirOwnForOtherHosts) {
  HostModel host = small_host();
  host.links.clear();
  for (int gpu = 0; gpu < 3; ++gpu)
    host.links.push_back({.gpu = gpu, .end = LinkEnd::kSwitch, .count = 4});
  host = finish(std::move(host), 0).value();
  EXPECT_EQ(choose_gpus(host, 2, false), (std::vector<int>{0, 1}));
  EXPECT_EQ(choose_gpus(host, 2, true), (std::vector<int>{0, 2})) << "0 and 1 share a NIC";
}

// A ring through all GPUs by their links, and a few links more; the numbers are mixed.
TEST(GpuRing, OfManyGpusUsesLinksAlone) {
  Random random(7);
  for (int repetition = 0; repetition < 20; ++repetition) {
    constexpr std::size_t kGpus = 16;
    std::vector<int> places(kGpus);
    std::iota(places.begin(), places.end(), 0);
    for (std::size_t i = kGpus - 1; i > 0; --i) std::swap(places[i], places[random.below(i + 1)]);
    const HostModel host = linked(kGpus, [&](int a, int b) {
      const int apart =
          std::abs(places[static_cast<std::size_t>(a)] - places[static_cast<std::size_t>(b)]);
      const bool is_in_ring = apart == 1 || apart == kGpus - 1;
      return is_in_ring || random.below(8) == 0 ? 1 : 0;
    });
    std::vector<int> linked_ring(kGpus);
    for (std::size_t i = 0; i < kGpus; ++i)
      linked_ring[static_cast<std::size_t>(places[i])] = static_cast<int>(i);
    EXPECT_NEAR(ring_cost_us(host, choose_gpus(host, kGpus, false), false),
                ring_cost_us(host, linked_ring, false), 1e-6)
        << "repetition " << repetition;
  }
}

TEST(GpuRing, OfManyGpusIsOneThatNoExchangeImproves) {
  Random random(3);
  const HostModel host =
      linked(12, [&](int, int) { return 1 + static_cast<int>(random.below(9)); });
  std::vector<int> ring = choose_gpus(host, 12, false);
  const double cost = ring_cost_us(host, ring, false);
  for (std::size_t i = 0; i < ring.size(); ++i) {
    for (std::size_t j = i + 1; j < ring.size(); ++j) {
      std::swap(ring[i], ring[j]);
      EXPECT_GE(ring_cost_us(host, ring, false), cost - 1e-6);
      std::swap(ring[i], ring[j]);
    }
  }
}

}  // namespace
}  // namespace paceline::topology
