#include "topology/placement/search/gpu_orders.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/topology/host_words.h"
#include "tests/unit/topology/many_hosts.h"
#include "tests/unit/topology/small_cluster.h"

namespace paceline::topology {
namespace {

// Of all ranks on one host of this machine, in a ring.
GpuOrders orders_of(const HostModel& machine, int ranks) {
  const Cluster cluster = cluster_of(machine, {"a"});
  const JobShape job{.ranks = ranks, .dimensions = parse_dimensions("dp=", ranks).value()};
  const HostLinks links(cluster);
  HostKinds kinds(cluster, job, links);
  const std::vector<TrafficPart> parts = parts_of(job);
  std::vector<int> own(static_cast<std::size_t>(ranks));
  std::iota(own.begin(), own.end(), 0);
  const std::vector<int> host_of(static_cast<std::size_t>(ranks), 0);
  std::int64_t steps = 0;
  return find_gpu_orders(kinds, 0, parts, host_traffic(parts, host_of, own), kMostOrderSteps,
                         steps);
}

TEST(GpuOrders, OfAlikeGpusAreTheFirst) {
  const GpuOrders orders = orders_of(eight_gpu_host(), 5);
  ASSERT_EQ(orders.orders.size(), 1U);
  EXPECT_EQ(orders.orders[0].gpus, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_TRUE(orders.is_all);
}

TEST(GpuOrders, WithoutGpusThereIsOne) {
  const GpuOrders orders = orders_of(plain_host(1000), 3);
  ASSERT_EQ(orders.orders.size(), 1U);
  EXPECT_TRUE(orders.orders[0].gpus.empty());
  EXPECT_DOUBLE_EQ(orders.orders[0].parts[0].latest_us, 1);
}

TEST(GpuOrders, EachGpuHasAsManyRanksAsTheOthers) {
  for (const int ranks : {3, 4, 7, 9}) {
    for (const GpuOrder& order : orders_of(finished_small_host(), ranks).orders) {
      std::vector<int> uses(3);
      for (const int gpu : order.gpus) ++uses[static_cast<std::size_t>(gpu)];
      const auto [least, most] = std::ranges::minmax(uses);
      EXPECT_LE(most - least, 1) << ranks;
    }
  }
}

TEST(GpuOrders, OfTooManyToTryEndAllTheSame) {
  // 16 GPUs in a ring that is not their order, and nothing else but PCIe.
  HostModel machine = wide_host(16);
  for (int i = 0; i < 16; ++i) {
    const int a = 7 * i % 16, b = 7 * (i + 1) % 16;
    machine.links.push_back({.gpu = std::min(a, b), .peer = std::max(a, b), .count = 4});
  }
  const GpuOrders orders = orders_of(finish(std::move(machine), 0).value(), 16);
  ASSERT_FALSE(orders.orders.empty());
  const std::vector<int>& gpus = orders.orders.front().gpus;
  EXPECT_EQ(std::set<int>(gpus.begin(), gpus.end()).size(), 16U);
  const auto& fastest = std::ranges::min_element(orders.orders, {}, [](const GpuOrder& order) {
                          return order.parts[0].busiest_us;
                        })->gpus;
  for (std::size_t i = 0; i < 16; ++i) {
    const int apart = (fastest[(i + 1) % 16] - fastest[i] + 16) % 16;
    EXPECT_TRUE(apart == 7 || apart == 9) << fastest[i] << " has no link to its neighbour";
  }
  EXPECT_EQ(orders_of(wide_host(3), 200).orders.front().gpus, gpus_in_order(3, 200));
}

}  // namespace
}  // namespace paceline::topology
