#include "collectives/host_world.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(HostLayouts, EachIsSmallerThanTheOneBefore) {
  for (int ranks = 2; ranks <= kMostHostRanks; ++ranks) {
    const auto layouts = host_layouts(ranks, ranks, true);
    ASSERT_FALSE(layouts.empty()) << ranks;
    for (std::size_t i = 0; i < layouts.size(); ++i) {
      EXPECT_GE(layouts[i].chunk_bytes, 4096u) << ranks;
      EXPECT_LE(layouts[i].bytes(ranks), std::size_t{16} << 20) << ranks;
      if (i == 0) continue;
      EXPECT_LT(layouts[i].bytes(ranks), layouts[i - 1].bytes(ranks)) << ranks;
    }
  }
}

TEST(HostLayouts, FewRanksFitIntoASmallFolder) {
  for (const int ranks : {2, 4, 8}) {
    EXPECT_LT(host_layouts(ranks, ranks, true).back().bytes(ranks), std::size_t{1} << 20) << ranks;
  }
}

TEST(HostLayouts, WithoutARoomASegmentIsNoLarger) {
  for (int ranks = 2; ranks <= kMostHostRanks; ++ranks)
    EXPECT_LE(host_layouts(ranks, 0, true).back().bytes(ranks),
              host_layouts(ranks, ranks, true).back().bytes(ranks))
        << ranks;
}

TEST(HostLayouts, WhereTheBackendServesNobodyASegmentHasTheRingsAlone) {
  for (int ranks = 2; ranks <= kMostHostRanks; ++ranks) {
    const auto layouts = host_layouts(ranks, ranks, false);
    ASSERT_FALSE(layouts.empty()) << ranks;
    for (const HostLayout& layout : layouts) EXPECT_EQ(layout.chunk_bytes, 0u) << ranks;
    EXPECT_LE(layouts.front().bytes(ranks), std::size_t{16} << 20) << ranks;
  }
}

}  // namespace
}  // namespace paceline
