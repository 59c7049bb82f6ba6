// How ranks and elements are divided between hosts, and how much scratch hierarchical plans need.
#include "collectives/algo/hosts.h"

#include <vector>

#include <gtest/gtest.h>

#include "collectives/algo/algorithms.h"
#include "collectives/algo/parts.h"
#include "tests/harness/host_maps.h"

namespace paceline {
namespace {

using testing::HostNumbers;

struct Seen {
  int rank;
  std::size_t offset, count;
  bool operator==(const Seen&) const = default;
};

std::vector<Seen> seen(const std::vector<Stretch>& share) {
  std::vector<Seen> all;
  for (const Stretch& stretch : share)
    all.push_back({stretch.rank, stretch.part.offset, stretch.part.count});
  return all;
}

TEST(Hosts, EachHasAsManyOwnersAsTheSmallestHasRanks) {
  const HostNumbers map{0, 1, 0, 1, 0};
  const Hosts hosts({.ranks = 5, .hosts = &map});
  EXPECT_EQ(hosts.count(), 2);
  EXPECT_EQ(hosts.owners(), 2);
  EXPECT_EQ(hosts.most_ranks(), 3);
  EXPECT_EQ(hosts.ranks(0), (std::vector{0, 2, 4}));
  EXPECT_EQ(hosts.owner(-1, 1), 3) << "hosts are in a circle";
  EXPECT_EQ(hosts.index_of(4), 2);
}

TEST(Hosts, WithoutAMapEachRankHasItsOwn) {
  const Hosts hosts({.ranks = 3});
  EXPECT_EQ(hosts.count(), 3);
  EXPECT_EQ(hosts.owners(), 1);
  EXPECT_EQ(hosts.host_of(2), 2);
}

TEST(Shares, AreTheBlocksOfTheOwnersWhereHostsAreAlike) {
  const HostNumbers map{0, 1, 0, 1};
  const PlanRequest request{
      .kind = OperationKind::kAllGather, .ranks = 4, .count = 10, .hosts = &map};
  const Shares shares(request);
  EXPECT_EQ(seen(shares.of(0, 1)), (std::vector<Seen>{{2, 20, 10}}));
  EXPECT_EQ(seen(shares.of(1, 0)), (std::vector<Seen>{{1, 10, 10}}));
}

TEST(Shares, AreNearlyEqualWhereHostsAreNot) {
  const HostNumbers map{0, 0, 0, 1, 1};
  const PlanRequest request{
      .kind = OperationKind::kReduceScatter, .ranks = 5, .count = 10, .hosts = &map};
  const Shares shares(request);
  EXPECT_EQ(seen(shares.of(0, 0)), (std::vector<Seen>{{0, 0, 10}, {1, 10, 5}}));
  EXPECT_EQ(seen(shares.of(0, 1)), (std::vector<Seen>{{1, 15, 5}, {2, 20, 10}}));
  EXPECT_EQ(shares.longest(), 15u);
  EXPECT_EQ(shares.count_between_hosts(), 30u) << "all chunks but the shortest";
  EXPECT_EQ(seen(pieces_of(shares.of(0, 1), 6)),
            (std::vector<Seen>{{1, 15, 5}, {2, 20, 6}, {2, 26, 4}}));
}

TEST(Shares, AreOfTheRootsHostAlone) {
  const HostNumbers map{0, 0, 1, 1};
  const PlanRequest request{
      .kind = OperationKind::kBroadcast, .ranks = 4, .root = 3, .count = 9, .hosts = &map};
  const Shares shares(request);
  EXPECT_EQ(seen(shares.of(1, 0)), (std::vector<Seen>{{3, 0, 5}}));
  EXPECT_EQ(seen(shares.of(1, 1)), (std::vector<Seen>{{3, 5, 4}}));
  EXPECT_TRUE(shares.of(0, 0).empty());
}

PlanRequest request_of(const Algorithm& algorithm, const HostNumbers& map, std::size_t count) {
  return {.kind = algorithm.kind,
          .ranks = static_cast<int>(map.size()),
          .count = count,
          .segment_count = 40,
          .hosts = &map};
}

TEST(Hierarchical, NeedsScratchForAFewSegmentsOnly) {
  for (const HostNumbers& map : {testing::hosts_with({8, 8}), testing::hosts_with({1, 5, 3})})
    for (const Algorithm& algorithm : algorithms()) {
      if (!algorithm.knows_hosts || has_counts(algorithm.kind)) continue;
      for (const Plan& plan : plans_of(algorithm, request_of(algorithm, map, 5000)))
        EXPECT_LE(plan.scratch_count, 2 * 40 * ScratchSlots::kSlots) << name(algorithm.kind);
    }
}

}  // namespace
}  // namespace paceline
