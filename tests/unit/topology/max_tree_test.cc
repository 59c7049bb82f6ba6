#include "topology/placement/search/max_tree.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "comm/base/random.h"

namespace paceline::topology {
namespace {

TEST(MaxTree, IsTheLargestWhateverChanges) {
  for (const std::size_t count : {1U, 2U, 3U, 7U, 8U, 100U}) {
    Random random(count);
    MaxTree tree(count);
    std::vector<double> numbers(count);
    for (int i = 0; i < 300; ++i) {
      const auto place = static_cast<std::size_t>(random.below(count));
      numbers[place] = static_cast<double>(random.below(5));
      tree.set(place, numbers[place]);
      const auto largest = std::ranges::max_element(numbers);
      ASSERT_EQ(tree.max(), *largest) << count;
      ASSERT_EQ(tree.largest(), static_cast<std::size_t>(largest - numbers.begin())) << count;
      ASSERT_EQ(tree.at(place), numbers[place]);
    }
  }
}

TEST(MaxTree, OfNothingIsNothing) { EXPECT_EQ(MaxTree(0).max(), 0); }

}  // namespace
}  // namespace paceline::topology
