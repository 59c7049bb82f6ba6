// IntervalMap against one value per element.
#include "collectives/plan/interval_map.h"

#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "comm/base/random.h"

namespace paceline {
namespace {

constexpr std::size_t kElements = 40;
using Model = std::vector<std::optional<int>>;

Model contents(const IntervalMap<int>& map, Interval range) {
  Model model(kElements);
  std::size_t last_end = 0;
  map.visit(range, [&](Interval piece, int value) {
    EXPECT_FALSE(piece.empty());
    EXPECT_GE(piece.begin, last_end) << "pieces overlap or are out of order";
    last_end = piece.end;
    for (std::size_t i = piece.begin; i < piece.end; ++i) model[i] = value;
  });
  return model;
}

TEST(IntervalMap, EmptyRangesChangeNothing) {
  IntervalMap<int> map;
  map.assign({3, 3}, 1);
  map.update({5, 5}, [](int&) { FAIL(); });
  EXPECT_EQ(contents(map, {0, kElements}), Model(kElements));
}

TEST(IntervalMap, VisitClipsToTheRange) {
  IntervalMap<int> map;
  map.assign({2, 10}, 7);
  std::vector<Interval> pieces;
  map.visit({4, 6}, [&](Interval piece, int) { pieces.push_back(piece); });
  EXPECT_EQ(pieces, (std::vector<Interval>{{4, 6}}));
}

TEST(IntervalMap, AgreesWithOneValuePerElement) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    IntervalMap<int> map;
    Model model(kElements);
    for (int change = 1; change <= 40; ++change) {
      const std::size_t begin = random.below(kElements);
      const Interval range{begin, begin + random.below(kElements - begin + 1)};
      if (random.chance(0.5)) {
        map.assign(range, change);
        for (std::size_t i = range.begin; i < range.end; ++i) model[i] = change;
      } else {
        map.update(range, [&](int& value) { value += 1000; });
        for (std::size_t i = range.begin; i < range.end; ++i)
          model[i] = model[i].value_or(0) + 1000;
      }
      ASSERT_EQ(contents(map, {0, kElements}), model) << "after change " << change;
    }
  }
}

}  // namespace
}  // namespace paceline
