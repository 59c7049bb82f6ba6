// What bench prints: tables in the columns of nccl-tests, and lines of JSON. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/tools/measure/probe/loop/operation.h"
#include "launcher/tools/measure/probe/loop/orders.h"
#include "launcher/tools/measure/probe/loop/row.h"

namespace paceline::launcher {

/// What all rows of a run have in common.
struct BenchTitle {
  const probe::Operation& operation;
  const probe::Orders& orders;
  int ranks;
};

/// 10⁹ bytes a second; 0 where there are no bytes.
double algbw_gbps(const probe::Row& row);

/// Column titles and their units, two lines.
std::string table_head();
std::string table_line(const BenchTitle& title, const probe::Row& row);

/// One contender's rows of many runs, size by size.
struct BenchSeries {
  std::string name;
  std::vector<std::vector<probe::Row>> rows;  ///< [size][run]
};

/// The medians over the runs of one size.
probe::Row median_row(std::span<const probe::Row> runs);

/// How many times as long `theirs` took, run by run.
struct BenchRatio {
  double median = 0;
  double tenth = 0;      ///< the 10th percentile
  double excess_ns = 0;  ///< how much longer ours took, the median
  std::size_t pairs = 0;
};
BenchRatio compare(std::span<const probe::Row> theirs, std::span<const probe::Row> ours);

/// Ours first.
std::string comparison_head(std::span<const BenchSeries> series);
std::string comparison_line(std::span<const BenchSeries> series, std::size_t size);

/// Without the newline.
std::string json_line(const BenchTitle& title, const std::string& backend, const probe::Row& row);
std::string json_ratio(const BenchTitle& title, const BenchSeries& ours, const BenchSeries& theirs,
                       std::size_t size);

}  // namespace paceline::launcher
