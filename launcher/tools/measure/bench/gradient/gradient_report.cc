#include "launcher/tools/measure/bench/gradient/gradient_report.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "launcher/tools/measure/bench/json_line.h"
#include "launcher/tools/measure/probe/loop/statistics.h"
#include "launcher/tools/measure/text_format.h"

namespace paceline::launcher {
namespace {

double ms(double us) { return us / 1e3; }

Spread spread_of(const std::vector<double>& values) {
  return {.median = probe::quantile(values, 0.5), .tenth = probe::quantile(values, 0.1)};
}

template <typename Row>
Spread spread_of(const std::vector<Row>& rows, double Row::*field) {
  std::vector<double> values;
  for (const Row& row : rows) values.push_back(row.*field);
  return spread_of(values);
}

probe::ExposedBound bound_of(const GradientTitle& title, const probe::WireRate& wire) {
  return probe::least_exposed(title.trace, probe::timeline_of(title.trace, title.orders.compute_us),
                              title.ranks, wire);
}

std::string title_lines(const GradientTitle& title) {
  const probe::WireRate& wire = title.wire;
  const double wire_us = probe::wire_us(title.trace.bytes(), title.ranks, wire);
  const Spread in_turn = spread_of(title.wires, &probe::WireRate::bytes_per_s);
  const probe::ExposedBound bound = bound_of(title, title.wire);
  const double compute_us = title.orders.compute_us;
  return text("# gradient, %s: %zu tensors, %.1f MB. %d ranks. Compute: %s, %.1f ms\n",
              title.trace.model.c_str(), title.trace.tensors.size(),
              static_cast<double>(title.trace.bytes()) / 1e6, title.ranks,
              title.orders.burns ? "burn" : "sleep", ms(compute_us)) +
         text(
             "# wire: %.1f ms at %.1f MB/s, compute is %.2f times that. In turn with the "
             "contenders: %.1f MB/s (10th perc. %.1f). A short operation: %.1f us\n",
             ms(wire_us), wire.bytes_per_s / 1e6, compute_us / std::max(wire_us, 1e-3),
             in_turn.median / 1e6, in_turn.tenth / 1e6, wire.latency_us) +
         text("# bound of exposed: %.2f ms by bytes, %.2f ms with the latency of one operation\n",
              ms(bound.bytes_us), ms(bound.with_latency_us));
}

int width_of(std::span<const GradientSeries> series) {
  std::size_t width = 10;
  for (const GradientSeries& one : series) width = std::max(width, one.name.size());
  return static_cast<int>(width);
}

std::string head_lines(int width) {
  return text("%*s %10s %10s %10s %9s %9s %9s %9s %7s %10s %7s %10s %7s\n", width, "contender",
              "step", "compute", "exposed", "sent", "cpu", "own cpu", "of bound", "10th", "step",
              "10th", "exposed", "10th") +
         text("%*s %10s %10s %10s %9s %9s %9s %9s %7s %10s %7s %10s %7s\n", width, "", "(ms)",
              "(ms)", "(ms)", "(MB)", "(ms)", "(ms)", "(%)", "perc.", "x ours", "perc.", "x ours",
              "perc.");
}

std::string table_line(const GradientTitle& title, const GradientSeries& series, int width) {
  const probe::StepRow row = probe::median_of(series.medians());
  const Spread of = of_bound(title, series).bytes;
  const auto if_any = [](double value) { return value > 0 ? text("%.2f", value) : "-"; };
  return text("%*s %10.2f %10.2f %10.2f %9s %9.2f %9s %9.1f %7.1f", width, series.name.c_str(),
              ms(row.step_us), ms(row.compute_us), ms(row.exposed_us),
              if_any(row.sent_bytes / 1e6).c_str(), ms(row.cpu_us),
              if_any(ms(row.own_cpu_us)).c_str(), 100 * of.median, 100 * of.tenth);
}

std::string ratio_columns(const GradientRatio& ratio) {
  return text(" %10.3f %7.3f %10.3f %7.3f", ratio.step.median, ratio.step.tenth,
              ratio.exposed.median, ratio.exposed.tenth);
}

// What every line begins with.
Json json_begin(const GradientTitle& title, const GradientSeries& series) {
  return {{"op", "gradient"},
          {"trace", title.trace.name},
          {"scale", title.orders.scale},
          {"tensors", title.trace.tensors.size()},
          {"bytes", title.trace.bytes()},
          {"ranks", title.ranks},
          {"compute", title.orders.burns ? "burn" : "sleep"},
          {"contender", series.name},
          {"codec", series.codec},
          {"pairs", series.job.turns.size()}};
}

void add_spread(Json& line, const std::string& name, const Spread& spread) {
  line[name + "_median"] = rounded(spread.median);
  line[name + "_p10"] = rounded(spread.tenth);
}

std::string json_line(const GradientTitle& title, const GradientSeries& series) {
  const probe::StepRow row = probe::median_of(series.medians());
  const probe::ExposedBound bound = bound_of(title, title.wire);
  const OfBound of = of_bound(title, series);
  Json line = json_begin(title, series);
  line["step_us"] = rounded(row.step_us);
  line["compute_us"] = rounded(row.compute_us);
  line["exposed_us"] = rounded(row.exposed_us);
  line["cpu_us"] = rounded(row.cpu_us);
  line["own_cpu_us"] = rounded(row.own_cpu_us);
  line["sent_bytes"] = rounded(row.sent_bytes);
  line["replayed_us"] = rounded(title.orders.compute_us);
  line["wire_us"] = rounded(probe::wire_us(title.trace.bytes(), title.ranks, title.wire));
  line["bytes_per_s"] = rounded(title.wire.bytes_per_s);
  line["bytes_per_s_in_turn"] =
      rounded(spread_of(title.wires, &probe::WireRate::bytes_per_s).median);
  line["latency_us"] = rounded(title.wire.latency_us);
  line["bound_us"] = rounded(bound.bytes_us);
  line["bound_with_latency_us"] = rounded(bound.with_latency_us);
  add_spread(line, "of_bound", of.bytes);
  add_spread(line, "of_bound_with_latency", of.with_latency);
  add_spread(line, "of_bound_in_turn", of.in_turn);
  line["error"] = series.error();
  return text_of(line);
}

std::string json_ratio(const GradientTitle& title, const GradientSeries& ours,
                       const GradientSeries& theirs) {
  const GradientRatio ratio = compare(theirs, ours);
  Json line = json_begin(title, ours);
  line["against"] = theirs.name;
  add_spread(line, "step_ratio", ratio.step);
  add_spread(line, "exposed_ratio", ratio.exposed);
  return text_of(line);
}

}  // namespace

std::vector<probe::StepRow> GradientSeries::medians() const {
  std::vector<probe::StepRow> medians;
  for (const probe::GradientTurn& turn : job.turns) medians.push_back(probe::median_of(turn));
  return medians;
}

double GradientSeries::error() const {
  return job.error.value_or(std::numeric_limits<double>::max());
}

GradientRatio compare(const GradientSeries& theirs, const GradientSeries& ours) {
  const std::vector<probe::StepRow> their = theirs.medians(), our = ours.medians();
  std::vector<double> steps, exposed;
  for (std::size_t turn = 0; turn < std::min(their.size(), our.size()); ++turn) {
    if (our[turn].step_us > 0) steps.push_back(their[turn].step_us / our[turn].step_us);
    if (our[turn].exposed_us > 0) exposed.push_back(their[turn].exposed_us / our[turn].exposed_us);
  }
  return {.step = spread_of(steps), .exposed = spread_of(exposed)};
}

OfBound of_bound(const GradientTitle& title, const GradientSeries& series) {
  const probe::ExposedBound bound = bound_of(title, title.wire);
  const std::vector<probe::StepRow> rows = series.medians();
  std::vector<double> bytes, with_latency, in_turn;
  for (std::size_t turn = 0; turn < rows.size(); ++turn) {
    const double exposed_us = rows[turn].exposed_us;
    if (exposed_us <= 0) continue;
    bytes.push_back(bound.bytes_us / exposed_us);
    with_latency.push_back(bound.with_latency_us / exposed_us);
    if (turn < title.wires.size())
      in_turn.push_back(bound_of(title, title.wires[turn]).with_latency_us / exposed_us);
  }
  return {.bytes = spread_of(bytes),
          .with_latency = spread_of(with_latency),
          .in_turn = spread_of(in_turn)};
}

std::string gradient_table(const GradientTitle& title, std::span<const GradientSeries> series) {
  const int width = width_of(series);
  std::string table = title_lines(title) + head_lines(width);
  for (const GradientSeries& one : series) {
    table += table_line(title, one, width);
    if (&one != series.data()) table += ratio_columns(compare(one, series.front()));
    table += "\n";
  }
  return table;
}

std::vector<std::string> gradient_json(const GradientTitle& title,
                                       std::span<const GradientSeries> series) {
  std::vector<std::string> lines;
  for (const GradientSeries& one : series) lines.push_back(json_line(title, one));
  for (const GradientSeries& theirs : series.subspan(1))
    lines.push_back(json_ratio(title, series.front(), theirs));
  return lines;
}

}  // namespace paceline::launcher
