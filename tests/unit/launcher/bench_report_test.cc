#include "launcher/tools/measure/bench/bench_report.h"

#include <gtest/gtest.h>

#include "launcher/tools/measure/bench/bench_run.h"
#include "launcher/tools/measure/bench/memory_need.h"

namespace paceline::launcher {
namespace {

using probe::Orders;
using probe::Row;

constexpr Row kRow{.bytes = 4096,
                   .count = 1024,
                   .samples = 9,
                   .batch = 1,
                   .p50_ns = 2048,
                   .p99_ns = 123456,
                   .wrong = -1,
                   .limit_ns = 512};

BenchTitle title_of(const Orders& orders, int ranks) {
  return {.operation = *probe::find_operation(orders.operation), .orders = orders, .ranks = ranks};
}

TEST(BenchReport, ATableLine) {
  const Orders orders;
  EXPECT_EQ(
      table_line(title_of(orders, 4), kRow),
      "       4096       1024  float32    sum    -      2.048      123.5    2.000    3.000    "
      "25.00       -\n");
}

TEST(BenchReport, WhatABarrierHasNot) {
  Orders orders;
  orders.operation = "barrier";
  const Row row{.p50_ns = 100, .p99_ns = 100, .wrong = -1};
  EXPECT_EQ(
      table_line(title_of(orders, 2), row),
      "          0          0        -      -    -      0.100      0.100    0.000    0.000      "
      "  -       -\n");
}

TEST(BenchReport, HeadAndLinesAreAsWide) {
  const std::string head = table_head();
  const Orders orders;
  EXPECT_EQ(head.find('\n') + 1, table_line(title_of(orders, 2), kRow).size());
}

TEST(BenchReport, JsonLines) {
  Orders orders;
  EXPECT_EQ(json_line(title_of(orders, 2), "auto", kRow),
            R"({"op":"all_reduce","bytes":4096,"ranks":2,"backend":"auto","inplace":true,)"
            R"("buffers":"ordinary","p50_us":2.048,"p99_us":123.456,"algbw_gbps":2.0,)"
            R"("busbw_gbps":2.0})");
  orders.in_place = false;
  const BenchSeries ours{.name = "auto", .rows = {{kRow}}};
  BenchSeries theirs{.name = "mpich", .rows = {{kRow}}};
  theirs.rows[0][0].p50_ns = 3072;
  EXPECT_EQ(json_ratio(title_of(orders, 2), ours, theirs, 0),
            R"({"op":"all_reduce","bytes":4096,"ranks":2,"backend":"auto","inplace":false,)"
            R"("against":"mpich","pairs":1,"ratio_median":1.5,"ratio_p10":1.5,)"
            R"("excess_ns_median":-1024.0})");
}

TEST(BenchReport, JsonHoldsAnyName) {
  const std::string name = "./\"quoted\"\\\n" + std::string(600, 'x') + "\xff";
  const std::string line = json_line(title_of(Orders(), 2), name, kRow);
  EXPECT_NE(line.find(R"("backend":"./\"quoted\"\\\nxxx)"), std::string::npos);
  EXPECT_EQ(line.back(), '}');
}

Row of(double p50_ns) {
  Row row = kRow;
  row.p50_ns = p50_ns;
  return row;
}

TEST(BenchReport, RatiosGoPairByPair) {
  const BenchRatio ratio =
      compare(std::vector<Row>{of(10), of(40), of(30)}, std::vector<Row>{of(10), of(10), of(10)});
  EXPECT_EQ(ratio.median, 3);
  EXPECT_EQ(ratio.tenth, 1);
  EXPECT_EQ(ratio.pairs, 3u);
  EXPECT_EQ(compare({}, {}).pairs, 0u);
}

TEST(BenchReport, AComparisonInColumns) {
  const std::vector<BenchSeries> series{{.name = "auto", .rows = {{of(2000), of(4000)}}},
                                        {.name = "raw", .rows = {{of(1000), of(1000)}}}};
  EXPECT_EQ(comparison_line(series, 0),
            "       4096          2.000          1.000     0.250     0.250\n");
  const std::string head = comparison_head(series);
  EXPECT_EQ(head.find('\n') + 1, comparison_line(series, 0).size());
}

TEST(BenchReport, MediansAndTheWorstCheck) {
  std::vector<Row> runs{of(3), of(1), of(2)};
  runs[1].wrong = 4;
  const Row row = median_row(runs);
  EXPECT_EQ(row.p50_ns, 2);
  EXPECT_EQ(row.wrong, 4);
}

TEST(BenchMemory, NeedsWhatAllRanksAllocate) {
  Orders orders;
  orders.low_bytes = orders.high_bytes = std::size_t{256} << 20;
  constexpr std::uint64_t kMiB = 1 << 20;
  EXPECT_EQ(memory_need(orders, 2), 2 * (256 + 64 + 16) * kMiB);
  EXPECT_TRUE(check_memory(orders, 2, 1, 1024 * kMiB).ok());
  EXPECT_TRUE(check_memory(orders, 200, 1, 0).ok()) << "not known";
  EXPECT_EQ(check_memory(orders, 2, 2, 1024 * kMiB).text(),
            "4 ranks need 1344 MiB of memory, but only 1024 MiB are free; ask for fewer ranks, or "
            "for smaller --bytes");
  orders.in_place = false;
  orders.limits = false;
  EXPECT_EQ(memory_need(orders, 1), (512 + 16) * kMiB);
  EXPECT_GT(available_memory(), 0u);
}

TEST(BenchPatience, GrowsWithTheMessages) {
  const Orders orders;
  EXPECT_LT(patience_at(orders, 2, 8), std::chrono::seconds(60));
  EXPECT_GT(patience_to_start(orders, 2), patience_at(orders, 2, 8)) << "ranks have to start";
  EXPECT_GT(patience_at(orders, 2, 256 << 20), patience_at(orders, 2, 128 << 20));
}

}  // namespace
}  // namespace paceline::launcher
