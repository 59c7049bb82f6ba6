// place() where nobody could look at all placements.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/topology/eight_gpu_host.h"
#include "tests/unit/topology/small_cluster.h"
#include "topology/placement/cost/cost.h"
#include "topology/placement/place.h"
#include "topology/placement/search/beginnings.h"
#include "topology/placement/search/gpu_orders.h"

namespace paceline::topology {
namespace {

// Hosts in their order, ranks in theirs, GPUs 0, 1, 2...
double block_order_us(const Cluster& cluster, const JobShape& job, const std::vector<int>& slots) {
  std::vector<Placed> ranks;
  for (int host = 0; host < static_cast<int>(slots.size()); ++host) {
    const int left = job.ranks - static_cast<int>(ranks.size());
    const int here = std::min(slots[static_cast<std::size_t>(host)], left);
    const auto gpus = static_cast<int>(machine_of(cluster, host).gpus.size());
    const std::vector<int> order = gpus_in_order(gpus, here);
    for (int rank = 0; rank < here; ++rank)
      ranks.push_back({.host = host,
                       .seat = {.gpu = gpus > 0 ? order[static_cast<std::size_t>(rank)] : kNone}});
  }
  double sum = 0;
  for (const CostPart& part : cost_parts(cluster, job, ranks, {})) sum += part.us;
  return sum;
}

// Each slot once at most, each GPU as often as the others.
void expect_fits(const Cluster& cluster, const Plan& plan, const std::vector<int>& slots) {
  std::vector<int> used(slots.size());
  std::vector<std::vector<int>> gpus;
  for (int host = 0; host < static_cast<int>(slots.size()); ++host)
    gpus.emplace_back(machine_of(cluster, host).gpus.size());
  for (const Placed& rank : plan.ranks) {
    const auto host = static_cast<std::size_t>(rank.host);
    ++used[host];
    if (rank.seat.gpu != kNone) ++gpus[host][static_cast<std::size_t>(rank.seat.gpu)];
  }
  for (std::size_t host = 0; host < slots.size(); ++host) {
    EXPECT_LE(used[host], slots[host]);
    if (gpus[host].empty()) continue;
    const auto [least, most] = std::ranges::minmax(gpus[host]);
    EXPECT_LE(most - least, 1);
  }
}

class PlaceLarge : public ::testing::TestWithParam<int> {};

TEST_P(PlaceLarge, IsNeverWorseThanBlocksInOrder) {
  constexpr const char* kShapes[] = {"dp=", "tp=4,dp=", "tp=2,pp=4,dp=", "ep=8,dp=", "cp=3,dp="};
  const auto seed = static_cast<std::uint64_t>(GetParam());
  Random random(seed);
  const int hosts = 24 + static_cast<int>(random.below(40));
  const Cluster cluster = random_cluster(random, hosts, 0.3 * random.unit());
  std::vector<int> slots;
  int room = 0;
  for (int host = 0; host < hosts; ++host) {
    slots.push_back(static_cast<int>(1 + random.below(9)));
    room += slots.back();
  }
  const int ranks = 24 * std::max(1, static_cast<int>(random.unit() * room / 24));
  JobShape job{.ranks = ranks};
  job.dimensions = parse_dimensions(kShapes[random.below(5)], ranks).value();
  const auto plan = place(cluster, job, slots);
  ASSERT_TRUE(plan.ok()) << plan.status().text();
  EXPECT_LE(plan->cost_us, block_order_us(cluster, job, slots) * (1 + 1e-9));
  expect_fits(cluster, *plan, slots);
  for (const Alternative& other : plan->alternatives) EXPECT_GE(other.cost_us, plan->cost_us);
}

INSTANTIATE_TEST_SUITE_P(Seeds, PlaceLarge, ::testing::Range(0, 12));

Cluster thousand_hosts() {
  Cluster cluster = cluster_of(eight_gpu_host(), {});
  for (int i = 0; i < 1024; ++i) cluster.hosts.push_back({.name = "node" + std::to_string(i)});
  return cluster;
}

TEST(PlaceThousandHosts, EightThousandRanks) {
  Cluster cluster = thousand_hosts();
  const std::vector<int> slots(1024, 8);
  for (const char* const shape : {"dp=", "tp=4,pp=2,dp="}) {
    const JobShape job{.ranks = 8192, .dimensions = parse_dimensions(shape, 8192).value()};
    const Plan plan = place(cluster, job, slots).value();
    expect_fits(cluster, plan, slots);
    EXPECT_EQ(plan.ranks[8191].host, 1023) << "alike hosts have no better order than theirs";
    EXPECT_NEAR(plan.cost_us, block_order_us(cluster, job, slots), 1e-6 * plan.cost_us);
  }
  // A slow way from each host to the next: the ring goes otherwise.
  for (int host = 0; host < 1023; ++host)
    cluster.ways.push_back({.from = host, .to = host + 1, .mb_per_s = 1000});
  cluster.network.mb_per_s = 50000;
  const JobShape job{.ranks = 8192, .dimensions = parse_dimensions("dp=", 8192).value()};
  const Plan plan = place(cluster, job, slots).value();
  expect_fits(cluster, plan, slots);
  EXPECT_LT(plan.cost_us, 0.3 * block_order_us(cluster, job, slots));
}

// What the search knows of the network is what cost_parts() says, rank by rank.
TEST(HostLoads, AgreeWithTheCostWhateverMoves) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    Cluster cluster = random_cluster(random, 5, random.unit());
    cluster.machines.assign(cluster.machines.size(), plain_host(0));
    JobShape job{.ranks = 12};
    job.dimensions = parse_dimensions(seed % 2 == 0 ? "tp=2,pp=2,dp=" : "ep=4,dp=", 12).value();
    const HostLinks links(cluster);
    HostKinds kinds(cluster, job, links);
    const ServerRules rules(cluster, job, links);
    Arranger arranger(kinds, rules, std::vector<int>(5, 12));
    HostLoads loads = arranger.loads(std::vector<int>(12, 0));
    for (int i = 0; i < 30; ++i) {
      loads.move(static_cast<int>(random.below(12)), static_cast<int>(random.below(5)));
      std::vector<Placed> ranks;
      for (const int host : loads.host_of()) ranks.push_back({.host = host});
      double sum = 0;
      for (const CostPart& part : cost_parts(cluster, job, ranks, {})) sum += part.us;
      EXPECT_NEAR(loads.cost_us(), sum, 1e-9 * sum) << "seed " << seed << ", move " << i;
      EXPECT_NEAR(arranger.arrange(loads).cost_us, sum, 1e-9 * sum);
      EXPECT_NEAR(arranger.loads(loads.host_of()).cost_us(), sum, 1e-9 * sum);
    }
  }
}

}  // namespace
}  // namespace paceline::topology
