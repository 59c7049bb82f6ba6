#include "launcher/tools/measure/probe/loop/row.h"

#include <gtest/gtest.h>

namespace paceline::probe {
namespace {

TEST(Row, LineAndBack) {
  const Row row{.bytes = 268435456,
                .count = 67108864,
                .samples = 5,
                .batch = 1,
                .p50_ns = 134814128.25,
                .p99_ns = 149999000.5,
                .wrong = 3,
                .limit_ns = 0.125};
  EXPECT_EQ(parse_row(to_line(row)), row);
  EXPECT_EQ(parse_row(to_line(Row())), Row());
}

TEST(Row, OtherLinesAreNone) {
  for (const char* line : {"", "row", "row ", "row 1 2 3 4 5 6 7", "row 1 2 3 4 5 6 7 8 9",
                           "row 1 2 3 4 x 6 7 8", "a row 1 2 3 4 5 6 7 8", "row -1 2 3 4 5 6 7 8"})
    EXPECT_EQ(parse_row(line), std::nullopt) << line;
}

}  // namespace
}  // namespace paceline::probe
