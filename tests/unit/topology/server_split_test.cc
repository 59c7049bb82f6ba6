#include "topology/placement/servers/server_split.h"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "comm/base/random.h"

namespace paceline::topology {
namespace {

double time_of(const std::vector<ServerSite>& sites, const std::vector<double>& shares) {
  double pushes = 0, us = 0;
  for (const ServerSite& site : sites) pushes += site.push_mb;
  for (std::size_t i = 0; i < sites.size(); ++i)
    us = std::max(us, sites[i].us_per_mb * (sites[i].push_mb * (1 - shares[i]) +
                                            shares[i] * (pushes - sites[i].push_mb)));
  return us;
}

TEST(ServerSplit, IsBytePSsWhereLinksAreEqual) {
  for (int n = 2; n <= 9; ++n) {
    for (int k = 0; k <= n; ++k) {
      std::vector<ServerSite> sites(static_cast<std::size_t>(n), {.us_per_mb = 3, .push_mb = 70});
      sites.resize(static_cast<std::size_t>(n + k), {.us_per_mb = 3, .push_mb = 0});
      const ServerSplit split = split_servers(sites, n + k);
      const double all = n * n + k * n - 2 * k;
      for (int host = 0; host < n + k; ++host)
        EXPECT_NEAR(split.shares[static_cast<std::size_t>(host)],
                    host < n ? (n - k) / all : 2 * (n - 1) / all, 1e-9)
            << n << " and " << k << ", host " << host;
      EXPECT_NEAR(split.us, time_of(sites, split.shares), 1e-6);
    }
  }
}

TEST(ServerSplit, IsOverSpareHostsAloneWhereTheyAreMore) {
  std::vector<ServerSite> sites(2, {.us_per_mb = 1, .push_mb = 100});
  sites.resize(6, {.us_per_mb = 1, .push_mb = 0});
  const ServerSplit split = split_servers(sites, 6);
  EXPECT_NEAR(split.shares[0], 0, 1e-9);
  EXPECT_NEAR(split.shares[5], 0.25, 1e-9);
  EXPECT_NEAR(split.us, 100, 1e-6);
}

TEST(ServerSplit, ChoosesTheHostsWithTheFastestLinks) {
  std::vector<ServerSite> sites(3, {.us_per_mb = 2, .push_mb = 100});
  for (const double us : {4.0, 1.0, 2.0, 1.0}) sites.push_back({.us_per_mb = us});
  const ServerSplit split = split_servers(sites, 2);
  EXPECT_NEAR(split.shares[4], 0.5, 1e-9);
  EXPECT_NEAR(split.shares[6], 0.5, 1e-9);
  sites[4].may_serve = sites[6].may_serve = false;
  const ServerSplit other = split_servers(sites, 1);
  EXPECT_NEAR(other.us, 400, 1e-6) << "beside ranks: 2 others' buffers each way";
  EXPECT_NEAR(other.shares[0], 1, 1e-9);
}

TEST(ServerSplit, KeepsWhatAHostWithMostRanksServesItself) {
  const ServerSplit split =
      split_servers({{.us_per_mb = 1, .push_mb = 300}, {.us_per_mb = 1, .push_mb = 100}}, 2);
  EXPECT_NEAR(split.shares[0], 1, 1e-6);
  EXPECT_NEAR(split.us, 100, 1e-6);
  EXPECT_NEAR(split_servers({{.us_per_mb = 1, .push_mb = 5}}, 1).us, 0, 1e-9);
}

TEST(ServerSplit, MindsTheServersOwnNics) {
  std::vector<ServerSite> sites(2, {.us_per_mb = 1, .push_mb = 100});
  sites.push_back({.us_per_mb = 1, .served_us_per_mb = 10});
  sites[0].may_serve = false;
  EXPECT_NEAR(split_servers(sites, 2).shares[2], 0.05, 1e-9);
}

TEST(ServerSplit, IsNoSlowerThanAnyOther) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    std::vector<ServerSite> sites;
    for (std::uint64_t i = 0; i < 2 + random.below(4); ++i)
      sites.push_back({.us_per_mb = 1 + 9 * random.unit(),
                       .push_mb = static_cast<double>(random.below(4)) * 100});
    const ServerSplit split = split_servers(sites, static_cast<int>(sites.size()));
    EXPECT_NEAR(std::accumulate(split.shares.begin(), split.shares.end(), 0.0), 1, 1e-9);
    EXPECT_NEAR(time_of(sites, split.shares), split.us, 1e-6 * split.us + 1e-6) << seed;
    for (int i = 0; i < 50; ++i) {
      std::vector<double> shares;
      for (std::size_t k = 0; k < sites.size(); ++k) shares.push_back(random.unit());
      const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
      for (double& share : shares) share /= sum;
      EXPECT_GE(time_of(sites, shares), split.us * (1 - 1e-9)) << seed;
    }
  }
}

}  // namespace
}  // namespace paceline::topology
