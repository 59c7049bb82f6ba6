#include "launcher/tools/measure/bench/bench_report.h"

#include <algorithm>

#include "launcher/tools/measure/bench/contender.h"
#include "launcher/tools/measure/bench/json_line.h"
#include "launcher/tools/measure/probe/loop/statistics.h"
#include "launcher/tools/measure/text_format.h"

namespace paceline::launcher {
namespace {

// Three digits or more, whatever the size.
std::string number(double value) {
  const int digits = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
  return text("%.*f", digits, value);
}

// Of the column with a contender's times.
int width_of(const BenchSeries& series) {
  return static_cast<int>(std::max<std::size_t>(14, series.name.size()));
}

unsigned long long integer(std::uint64_t value) { return value; }

std::string type_name(const BenchTitle& title) {
  return std::string(title.operation.has_arrays() ? name(title.orders.type) : "-");
}

std::string op_name(const BenchTitle& title) {
  return std::string(reduces(title.operation.kind) ? name(title.orders.op) : "-");
}

double busbw_gbps(const BenchTitle& title, const probe::Row& row) {
  return algbw_gbps(row) * title.operation.bus_factor(title.ranks);
}

// The members with which every line begins.
Json json_begin(const BenchTitle& title, const std::string& backend, std::uint64_t bytes) {
  return {{"op", title.operation.name()},
          {"bytes", bytes},
          {"ranks", title.ranks},
          {"backend", backend},
          {"inplace", title.operation.is_in_place(title.orders.in_place)}};
}

}  // namespace

double algbw_gbps(const probe::Row& row) {
  return row.p50_ns > 0 ? static_cast<double>(row.bytes) / row.p50_ns : 0;
}

std::string table_head() {
  return text(
      "%11s %10s %8s %6s %4s %10s %10s %8s %8s %8s %7s\n%11s %10s %8s %6s %4s %10s %10s "
      "%8s %8s %8s %7s\n",
      "size", "count", "type", "redop", "root", "time p50", "p99", "algbw", "busbw", "of limit",
      "#wrong", "(B)", "", "", "", "", "(us)", "(us)", "(GB/s)", "(GB/s)", "(%)", "");
}

std::string table_line(const BenchTitle& title, const probe::Row& row) {
  const std::string root =
      has_root(title.operation.kind) ? std::to_string(title.orders.root) : std::string("-");
  const std::string limit =
      row.limit_ns > 0 && row.p50_ns > 0 ? number(100 * row.limit_ns / row.p50_ns) : "-";
  const std::string wrong = row.wrong < 0 ? "-" : std::to_string(row.wrong);
  return text("%11llu %10llu %8s %6s %4s %10s %10s %8s %8s %8s %7s\n", integer(row.bytes),
              integer(row.count), type_name(title).c_str(), op_name(title).c_str(), root.c_str(),
              number(row.p50_ns / 1000).c_str(), number(row.p99_ns / 1000).c_str(),
              number(algbw_gbps(row)).c_str(), number(busbw_gbps(title, row)).c_str(),
              limit.c_str(), wrong.c_str());
}

probe::Row median_row(std::span<const probe::Row> runs) {
  probe::Row row = runs.front();
  std::vector<double> p50s, p99s;
  for (const probe::Row& run : runs) {
    p50s.push_back(run.p50_ns);
    p99s.push_back(run.p99_ns);
    row.wrong = std::max(row.wrong, run.wrong);
  }
  row.p50_ns = probe::quantile(p50s, 0.5);
  row.p99_ns = probe::quantile(p99s, 0.5);
  return row;
}

BenchRatio compare(std::span<const probe::Row> theirs, std::span<const probe::Row> ours) {
  std::vector<double> ratios, excesses;
  for (std::size_t run = 0; run < std::min(theirs.size(), ours.size()); ++run) {
    if (ours[run].p50_ns <= 0) continue;
    ratios.push_back(theirs[run].p50_ns / ours[run].p50_ns);
    excesses.push_back(ours[run].p50_ns - theirs[run].p50_ns);
  }
  return {.median = probe::quantile(ratios, 0.5),
          .tenth = probe::quantile(ratios, 0.1),
          .excess_ns = probe::quantile(excesses, 0.5),
          .pairs = ratios.size()};
}

std::string comparison_head(std::span<const BenchSeries> series) {
  std::string first = text("%11s %14s", "size", series.front().name.c_str());
  std::string second = text("%11s %14s", "(B)", "p50 (us)");
  for (const BenchSeries& peer : series.subspan(1)) {
    first += text(" %*s %9s %9s", width_of(peer), peer.name.c_str(), "x ours", "10th");
    second += text(" %*s %9s %9s", width_of(peer), "p50 (us)", "median", "perc.");
  }
  return first + "\n" + second + "\n";
}

std::string comparison_line(std::span<const BenchSeries> series, std::size_t size) {
  const std::vector<probe::Row>& ours = series.front().rows[size];
  const probe::Row row = median_row(ours);
  std::string line = text("%11llu %14s", integer(row.bytes), number(row.p50_ns / 1000).c_str());
  for (const BenchSeries& peer : series.subspan(1)) {
    const BenchRatio ratio = compare(peer.rows[size], ours);
    line += text(" %*s %9s %9s", width_of(peer),
                 number(median_row(peer.rows[size]).p50_ns / 1000).c_str(),
                 number(ratio.median).c_str(), number(ratio.tenth).c_str());
  }
  return line + "\n";
}

std::string json_line(const BenchTitle& title, const std::string& backend, const probe::Row& row) {
  const bool registered = title.orders.registered && !is_peer(backend);
  Json line = json_begin(title, backend, row.bytes);
  line["buffers"] = title.orders.on_gpu ? "device" : registered ? "registered" : "ordinary";
  line["p50_us"] = rounded(row.p50_ns / 1000);
  line["p99_us"] = rounded(row.p99_ns / 1000);
  line["algbw_gbps"] = rounded(algbw_gbps(row));
  line["busbw_gbps"] = rounded(busbw_gbps(title, row));
  return text_of(line);
}

std::string json_ratio(const BenchTitle& title, const BenchSeries& ours, const BenchSeries& theirs,
                       std::size_t size) {
  const BenchRatio ratio = compare(theirs.rows[size], ours.rows[size]);
  Json line = json_begin(title, ours.name, ours.rows[size].front().bytes);
  line["against"] = theirs.name;
  line["pairs"] = ratio.pairs;
  line["ratio_median"] = rounded(ratio.median);
  line["ratio_p10"] = rounded(ratio.tenth);
  line["excess_ns_median"] = rounded(ratio.excess_ns);
  return text_of(line);
}

}  // namespace paceline::launcher
