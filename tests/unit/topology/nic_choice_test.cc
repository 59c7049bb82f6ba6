#include "topology/placement/host/nic_choice.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "comm/base/random.h"
#include "tests/unit/topology/host_words.h"
#include "topology/model/finish.h"
#include "topology/path/path.h"

namespace paceline::topology {
namespace {

// Until all have sent a MB, as the header says it.
double time_of(const HostModel& host, const std::vector<DataPlace>& ranks,
               const std::vector<int>& nics) {
  double slowest = 0;
  std::vector<int> ranks_of(host.nics.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const Path path =
        path_between(host, {DeviceKind::kGpu, ranks[rank].gpu}, {DeviceKind::kNic, nics[rank]});
    slowest = std::max(slowest, 1e6 / static_cast<double>(path.mb_per_s));
    ++ranks_of[static_cast<std::size_t>(nics[rank])];
  }
  for (std::size_t nic = 0; nic < ranks_of.size(); ++nic)
    slowest =
        std::max(slowest, ranks_of[nic] * 8e6 / static_cast<double>(*host.nics[nic].rate_mbit));
  return slowest;
}

double least_by_trying_all(const HostModel& host, const std::vector<DataPlace>& ranks) {
  std::vector<int> nics(ranks.size(), 0);
  double least = std::numeric_limits<double>::infinity();
  while (true) {
    least = std::min(least, time_of(host, ranks, nics));
    std::size_t at = 0;
    while (at < nics.size() && ++nics[at] == static_cast<int>(host.nics.size())) nics[at++] = 0;
    if (at == nics.size()) return least;
  }
}

// GPUs and NICs below switches that a seed chooses, with widths and rates that it chooses.
HostModel random_host(Random& random, std::size_t gpus, std::size_t nics) {
  HostModel host{.name = "random", .sources = {"a seed"}};
  host.numa_nodes = {{.number = 0, .cpus = CpuSet::parse("0-3").value()},
                     {.number = 1, .cpus = CpuSet::parse("4-7").value()}};
  for (int i = 0; i < 2; ++i)
    host.bridges.push_back({.near = known(place_of(i == 0 ? "0-3" : "4-7", i))});
  for (int i = 0; i < 4; ++i)
    host.bridges.push_back({.kind = BridgeKind::kSwitch,
                            .parent = i / 2,
                            .mb_per_s = known(std::uint64_t{8000} << random.below(3))});
  const auto bridge = [&] { return static_cast<int>(random.below(host.bridges.size())); };
  for (std::size_t i = 0; i < gpus; ++i)
    host.gpus.push_back({.name = "gpu", .pci = {.bridge = bridge()}});
  for (std::size_t i = 0; i < nics; ++i)
    host.nics.push_back({.name = "mlx5_" + std::to_string(i),
                         .has_rdma = true,
                         .pci = {.bridge = bridge()},
                         .rate_mbit = known(std::uint64_t{25000} << random.below(4))});
  return finish(std::move(host), 0).value();
}

TEST(NicChoice, IsTheQuickestOfAll) {
  Random random(11);
  for (int repetition = 0; repetition < 200; ++repetition) {
    const HostModel host = random_host(random, 1 + random.below(5), 1 + random.below(4));
    std::vector<DataPlace> ranks;
    for (std::size_t gpu = 0; gpu < host.gpus.size(); ++gpu)
      ranks.push_back({.gpu = static_cast<int>(gpu)});
    const NicChoice choice = choose_nics(host, ranks);
    EXPECT_NEAR(choice.us_per_mb, least_by_trying_all(host, ranks), 1e-6);
    EXPECT_LE(time_of(host, ranks, choice.nics), choice.us_per_mb * (1 + 1e-6));
  }
}

TEST(NicChoice, OfEquallyQuickOnesIsTheNearest) {
  const HostModel host = finished_small_host();
  const NicChoice choice = choose_nics(host, {{.gpu = 2}, {.gpu = 0}});
  EXPECT_EQ(choice.nics, (std::vector<int>{1, 0}));
}

TEST(NicChoice, TakesNoNicThatIsDownOrHasNoRdmaWhereOthersHave) {
  HostModel host = small_host();
  host.nics.push_back({.name = "eth0", .rate_mbit = known(std::uint64_t{800000})});
  host.nics[0].is_up = known(false);
  host = finish(std::move(host), 0).value();
  ASSERT_EQ(host.nics[0].name, "eth0");
  EXPECT_EQ(usable_nics(host), (std::vector<int>{2}));
  EXPECT_EQ(choose_nics(host, {{.gpu = 0}, {.gpu = 1}}).nics, (std::vector<int>{2, 2}));
}

TEST(NicChoice, IsNoneWhereThereIsNone) {
  HostModel host = small_host();
  host.nics.clear();
  const NicChoice choice = choose_nics(finish(std::move(host), 0).value(), {{.gpu = 0}});
  EXPECT_EQ(choice.nics, (std::vector<int>{kNone}));
}

TEST(NicChoice, OfVeryManyRanksIsShared) {
  const HostModel host = finished_small_host();
  std::vector<DataPlace> ranks(65536, DataPlace{.node = 0});
  std::fill(ranks.begin() + 32768, ranks.end(), DataPlace{.node = 1});
  const NicChoice choice = choose_nics(host, ranks);
  EXPECT_EQ(std::ranges::count(choice.nics, 0), 32768);
  EXPECT_EQ(choice.nics.front(), 0);
  EXPECT_EQ(choice.nics.back(), 1);
}

TEST(NicChoice, StartsFromMemoryWhereThereIsNoGpu) {
  const HostModel host = finished_small_host();
  EXPECT_EQ(choose_nics(host, {{.node = 1}, {.node = 0}}).nics, (std::vector<int>{1, 0}));
}

TEST(NicChoice, DoesNotDependOnTheOrderOfRanks) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    const HostModel host = random_host(random, 6, 4);
    std::vector<DataPlace> ranks;
    for (int gpu = 0; gpu < 6; ++gpu) ranks.push_back({.gpu = gpu});
    const std::vector<int> nics = choose_nics(host, ranks).nics;
    for (std::size_t i = 5; i > 0; --i) std::swap(ranks[i], ranks[random.below(i + 1)]);
    const std::vector<int> others = choose_nics(host, ranks).nics;
    for (std::size_t i = 0; i < ranks.size(); ++i)
      EXPECT_EQ(others[i], nics[static_cast<std::size_t>(ranks[i].gpu)]) << "seed " << seed;
  }
}

}  // namespace
}  // namespace paceline::topology
