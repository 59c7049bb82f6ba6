#include "launcher/tools/measure/probe/check/reductions.h"

#include <gtest/gtest.h>

namespace paceline::probe {
namespace {

using Groups = std::vector<int>;
using Sizes = std::vector<std::size_t>;

TEST(Reductions, GroupsGrow) {
  EXPECT_EQ(growing_groups(1), Groups());
  EXPECT_EQ(growing_groups(2), Groups{2});
  EXPECT_EQ(growing_groups(8), (Groups{2, 4, 8}));
  EXPECT_EQ(growing_groups(11), (Groups{2, 4, 8, 11}));
}

TEST(Reductions, SizesFollowTheRate) {
  EXPECT_EQ(reduction_sizes(100e6, std::chrono::milliseconds(50)), (Sizes{16384, 262144}));
  EXPECT_EQ(reduction_sizes(0, std::chrono::milliseconds(50)), Sizes{4096});
  EXPECT_EQ(reduction_sizes(1e15, std::chrono::seconds(1)), (Sizes{4 << 20, 64 << 20}));
}

}  // namespace
}  // namespace paceline::probe
