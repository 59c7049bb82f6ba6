#include "collectives/algo/parts.h"

#include <set>

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(Parts, CoverTheArrayAndDifferByOneAtMost) {
  for (const std::size_t count : {0u, 1u, 2u, 7u, 13u, 64u, 97u, 1000u}) {
    for (int parts = 1; parts <= 20; ++parts) {
      std::size_t covered = 0;
      for (int index = 0; index < parts; ++index) {
        const Part part = part_of(count, parts, index);
        EXPECT_EQ(part.offset, covered) << count << " in " << parts << ", part " << index;
        EXPECT_LE(part_of(count, parts, 0).count - part.count, 1u);
        covered += part.count;
      }
      EXPECT_EQ(covered, count);
    }
  }
}

TEST(Parts, IndicesCountAround) {
  EXPECT_EQ(part_of(100, 7, -1), part_of(100, 7, 6));
  EXPECT_EQ(part_of(100, 7, -13), part_of(100, 7, 1));
  EXPECT_EQ(part_of(100, 7, 9), part_of(100, 7, 2));
}

TEST(Parts, SegmentsCoverThePart) {
  EXPECT_TRUE(segments_of({5, 0}, 3).empty());
  EXPECT_EQ(segments_of({5, 3}, 3), (std::vector<Part>{{5, 3}}));
  EXPECT_EQ(segments_of({5, 7}, 3), (std::vector<Part>{{5, 3}, {8, 3}, {11, 1}}));
  EXPECT_EQ(segments_of({5, 7}, 100), (std::vector<Part>{{5, 7}}));
}

TEST(ScratchSlots, TakesNoMoreThanItHasAndReusesThemInTurn) {
  PlanBuilder builder({.kind = OperationKind::kAllReduce});
  ScratchSlots slots(builder, 10);
  std::vector<std::size_t> offsets;
  for (std::size_t i = 0; i < 2 * ScratchSlots::kSlots; ++i) offsets.push_back(slots.next().offset);
  for (std::size_t i = 0; i < ScratchSlots::kSlots; ++i) {
    EXPECT_EQ(offsets[i], 10 * i);
    EXPECT_EQ(offsets[i + ScratchSlots::kSlots], offsets[i]);
  }
  EXPECT_EQ(std::move(builder).finish().scratch_count, 10 * ScratchSlots::kSlots);
}

}  // namespace
}  // namespace paceline
