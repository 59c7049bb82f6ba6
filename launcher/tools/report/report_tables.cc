#include "launcher/tools/report/report_tables.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "comm/base/text.h"
#include "launcher/registry/run_text.h"
#include "launcher/tools/report/operation_speed.h"
#include "launcher/tools/report/report_words.h"

namespace paceline::launcher {
namespace {

constexpr double kShown = 0.005;  // of a share
constexpr std::size_t kMostHosts = 16;
constexpr std::size_t kMostName = 64;

using Cells = std::vector<std::string>;

// Cells of HTML. Columns from the second one on have numbers, except those in `words`.
std::string table(const Cells& head, const std::vector<Cells>& rows,
                  const std::vector<std::size_t>& words = {}) {
  const auto row_of = [&words](const Cells& cells, const std::string& tag) {
    std::string row = "<tr>";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const bool is_word = i == 0 || std::ranges::find(words, i) != words.end();
      row += "<" + tag + (is_word ? "" : " class=\"n\"") + ">" + cells[i] + "</" + tag + ">";
    }
    return row + "</tr>\n";
  };
  std::string made = "<div class=\"wide\"><table>\n" + row_of(head, "th");
  for (const Cells& cells : rows) made += row_of(cells, "td");
  return made + "</table></div>\n";
}

struct EvidenceColumn {
  const char* title;
  double RankEvidence::*field;
  double shown_from;
  std::string (*words)(double);
};
std::string memory_words(double kib) { return bytes_words(1024 * kib); }
constexpr EvidenceColumn kEvidenceColumns[] = {
    {"waited for", &RankEvidence::waited_for, kShown, share_words},
    {"compute", &RankEvidence::compute, kShown, share_words},
    {"input", &RankEvidence::input, kShown, share_words},
    {"other", &RankEvidence::other, kShown, share_words},
    {"on a CPU", &RankEvidence::running, kShown, share_words},
    {"without CPU", &RankEvidence::queued, kShown, share_words},
    {"throttled", &RankEvidence::throttled, kShown, share_words},
    {"stopped", &RankEvidence::stopped, kShown, share_words},
    {"blocked", &RankEvidence::blocked, kShown, share_words},
    {"disk reads/s", &RankEvidence::major_faults_per_s, 1, number_words},
    {"memory", &RankEvidence::resident_kib, 1, memory_words},
};

struct HostColumn {
  const char* title;
  HostFigure figure;
  std::string (*words)(double);
};
std::string per_second_words(double bytes) { return bytes_words(bytes) + "/s"; }
constexpr HostColumn kHostColumns[] = {
    {"CPUs", HostFigure::kCpus, number_words},
    {"CPUs busy", HostFigure::kCpuBusy, number_words},
    {"waits for a CPU", HostFigure::kCpuStalled, share_words},
    {"for memory", HostFigure::kMemoryStalled, share_words},
    {"for a disk", HostFigure::kIoStalled, share_words},
    {"memory", HostFigure::kMemory, bytes_words},
    {"least free", HostFigure::kMemoryAvailable, bytes_words},
    {"disk reads", HostFigure::kDiskRead, per_second_words},
    {"disk writes", HostFigure::kDiskWritten, per_second_words},
    {"received", HostFigure::kReceived, per_second_words},
    {"sent", HostFigure::kSent, per_second_words},
};

struct GpuColumn {
  const char* title;
  GpuFigure figure;
  std::string (*words)(double);
};
std::string watts_words(double watts) { return number_words(watts) + " W"; }
std::string clock_words(double hertz) { return number_words(hertz / 1e6) + " MHz"; }
std::string degrees_words(double celsius) { return number_words(celsius) + " °C"; }
constexpr GpuColumn kGpuColumns[] = {
    {"busy", GpuFigure::kBusy, share_words},
    {"memory", GpuFigure::kMemory, bytes_words},
    {"most used", GpuFigure::kMemoryUsed, bytes_words},
    {"power", GpuFigure::kPower, watts_words},
    {"SM clock", GpuFigure::kSmClock, clock_words},
    {"hottest", GpuFigure::kTemperature, degrees_words},
    {"corrected errors", GpuFigure::kCorrectedErrors, number_words},
    {"uncorrected errors", GpuFigure::kUncorrectedErrors, number_words},
};

// Empty: unknown.
std::string known_words(std::optional<double> value, std::string (*words)(double)) {
  return value ? words(*value) : "";
}

// A table without the columns that are empty in all rows. `words` as in table().
std::string known_columns(const Cells& head, const std::vector<Cells>& rows,
                          const std::vector<std::size_t>& words) {
  if (rows.empty()) return "";
  Cells kept_head;
  std::vector<Cells> kept_rows(rows.size());
  std::vector<std::size_t> kept_words;
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (std::ranges::all_of(rows, [i](const Cells& row) { return row[i].empty(); })) continue;
    if (std::ranges::find(words, i) != words.end()) kept_words.push_back(kept_head.size());
    kept_head.push_back(head[i]);
    for (std::size_t row = 0; row < rows.size(); ++row) kept_rows[row].push_back(rows[row][i]);
  }
  return table(kept_head, kept_rows, kept_words);
}

// Only ranks that others waited for have a host and a cause in the record.
const WaitedFor* waited_for(const RunFigures& figures, std::size_t rank) {
  const auto found =
      std::ranges::find(figures.waited_for, static_cast<int>(rank), &WaitedFor::rank);
  return found == figures.waited_for.end() ? nullptr : &*found;
}

// The rank that waits least for others is the one for which they wait.
std::vector<std::size_t> most_waited_for_first(const std::vector<RankEvidence>& ranks) {
  std::vector<std::size_t> order(ranks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(),
                           [&ranks](std::size_t rank) { return ranks[rank].waited_for; });
  return order;
}

std::string error_words(const ComparedQuantity& one, const StepEstimate& estimate) {
  const std::string mean =
      one.quantity == Quantity::kRate ? number_words(estimate.mean) : step_words(estimate.mean);
  if (estimate.mean <= 0) return html(mean);
  return html(mean + " ± " + share_words(estimate.error / estimate.mean));
}

std::string judgement_words(Judgement judgement) {
  switch (judgement) {
    case Judgement::kEqual:
      return "no difference beyond noise";
    case Judgement::kSmall:
      return "too small to matter";
    case Judgement::kDrifted:
      return "cannot tell: the runs drift";
    case Judgement::kNamed:
      return "differs";
  }
  return "";
}

}  // namespace

std::string ranks_table(const RunEntry& run) {
  const RunFigures& figures = *run.figures;
  std::vector<EvidenceColumn> columns;
  for (const EvidenceColumn& column : kEvidenceColumns)
    if (std::ranges::any_of(figures.ranks, [&column](const RankEvidence& rank) {
          return rank.*column.field >= column.shown_from;
        }))
      columns.push_back(column);
  std::vector<HostColumn> more;
  for (const HostColumn& column : kHostColumns)
    if (std::ranges::any_of(figures.ranks, [&column](const RankEvidence& rank) {
          return rank.figures.get(column.figure).value_or(0) >=
                 (column.words == share_words ? kShown : 1);
        }))
      more.push_back(column);
  if (columns.empty() && more.empty()) return "";
  Cells head{"rank"};
  for (const EvidenceColumn& column : columns) head.emplace_back(column.title);
  for (const HostColumn& column : more) head.emplace_back(column.title);
  head.emplace_back("why others waited");
  std::vector<Cells> rows;
  for (const std::size_t rank : most_waited_for_first(figures.ranks)) {
    const WaitedFor* const waited = waited_for(figures, rank);
    const bool has_host = waited != nullptr && run.hosts.size() > 1;
    Cells row{std::to_string(rank) + (has_host ? " on " + html(waited->host, kMostName) : "")};
    for (const EvidenceColumn& column : columns)
      row.push_back(column.words(figures.ranks[rank].*column.field));
    for (const HostColumn& column : more)
      row.push_back(known_words(figures.ranks[rank].figures.get(column.figure), column.words));
    row.push_back(waited != nullptr ? html(waited->cause, kMostName) : "");
    rows.push_back(std::move(row));
  }
  const std::size_t cause = head.size() - 1;
  return table(head, rows, {cause});
}

std::string hosts_table(const RunEntry& run) {
  Cells head{"host"};
  for (const HostColumn& column : kHostColumns) head.emplace_back(column.title);
  head.emplace_back("clock error");
  std::vector<Cells> rows;
  for (const HostSummary& host : run.figures->hosts) {
    Cells row{html(host.host, kMostName)};
    for (const HostColumn& column : kHostColumns)
      row.push_back(known_words(host.figures.get(column.figure), column.words));
    row.push_back(known_words(host.clock_error_s, step_words));
    rows.push_back(std::move(row));
  }
  return known_columns(head, rows, {});
}

std::string gpus_table(const RunEntry& run) {
  Cells head{"host", "GPU", "model"};
  for (const GpuColumn& column : kGpuColumns) head.emplace_back(column.title);
  head.emplace_back("clocks limited by");
  std::vector<Cells> rows;
  for (const HostSummary& host : run.figures->hosts)
    for (const GpuReading& gpu : host.gpus) {
      Cells row{html(host.host, kMostName), std::to_string(gpu.number), html(gpu.name, kMostName)};
      for (const GpuColumn& column : kGpuColumns)
        row.push_back(known_words(gpu.figures.get(column.figure), column.words));
      const auto limits = clock_limit_words(gpu.figures.get(GpuFigure::kClockLimits).value_or(0));
      row.push_back(joined({limits.begin(), limits.end()}, ", "));
      rows.push_back(std::move(row));
    }
  const std::size_t limits = head.size() - 1;
  return known_columns(head, rows, {2, limits});
}

// Operations outside of steps are there, too.
std::string operations_table(const RunEntry& run) {
  std::vector<Cells> rows;
  for (const OperationSummary& one : run.figures->operations) {
    if (one.kind == OperationKind::kClose) continue;
    const auto speed = speed_of(one);
    const auto rate = [](std::optional<double> gbps) {
      return gbps ? number_words(*gbps) : std::string("-");
    };
    rows.push_back({html(std::string(name(one.kind))),
                    one.group.empty() ? "all ranks" : html(one.group, kMostName),
                    one.ranks > 0 ? std::to_string(one.ranks) : "-", std::to_string(one.count),
                    speed ? bytes_words(speed->bytes) : "-",
                    rate(speed ? std::optional(speed->algbw_gbps) : std::nullopt),
                    rate(speed ? speed->busbw_gbps : std::nullopt),
                    one.seconds > 0 ? share_words(one.exposed_seconds / one.seconds) : "-",
                    run.seconds > 0 ? share_words(one.exposed_seconds / run.seconds) : "-"});
  }
  if (rows.empty()) return "";
  return table({"operation", "group", "ranks", "calls", "bytes a call", "algbw GB/s", "busbw GB/s",
                "exposed", "of the run"},
               rows, {1});
}

std::string facts_table(const RunEntry& run) {
  const RunFigures& figures = *run.figures;
  std::vector<Cells> rows{{"run", html(run.id)},
                          {"begin", html(local_minute(run.begin_s))},
                          {"time", duration_words(run.seconds)},
                          {"exit code", std::to_string(run.exit_code)},
                          {"ranks", std::to_string(run.ranks)},
                          {"restarts", std::to_string(run.restarts)},
                          {"hosts", html(list_text(run.hosts, kMostHosts))},
                          {"folder", "<code>" + html(run.directory) + "</code>"},
                          {"command", "<code>" + html(run.command) + "</code>"}};
  if (figures.has_steps) rows.push_back({"steps", std::to_string(figures.steps)});
  if (figures.flop_per_s > 0) rows.push_back({"TFLOP/s", number_words(figures.flop_per_s / 1e12)});
  if (figures.mfu)
    rows.push_back({"MFU", share_words(*figures.mfu) + " of " +
                               number_words(figures.peak_flop_per_s / 1e12) + " TFLOP/s a rank"});
  return table({"fact", "value"}, rows, {1});
}

std::string comparison_table(const RunComparison& comparison) {
  if (comparison.quantities.empty()) return "";
  std::vector<Cells> rows;
  for (const ComparedQuantity& one : comparison.quantities)
    rows.push_back({html(std::string(name(one.quantity))), error_words(one, one.first),
                    error_words(one, one.second), change_words(one.change),
                    share_words(one.named_from), share_words(one.drift),
                    judgement_words(one.judgement)});
  return table(
      {"quantity", "first run", "second run", "change", "seen from", "drift in a run", "judgement"},
      rows, {6});
}

}  // namespace paceline::launcher
