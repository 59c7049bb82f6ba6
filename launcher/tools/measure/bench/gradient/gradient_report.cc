#include "launcher/tools/measure/bench/gradient/gradient_report.h"

#include <algorithm>
#include <cstddef>
#include <limits>

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
  return text("# gradient, %s: %zu tensors, %.1f MB; %d ranks; compute: %s, %.1f ms\n",
              title.trace.model.c_str(), title.trace.tensors.size(),
              static_cast<double>(title.trace.bytes()) / 1e6, title.ranks,
              title.orders.burns ? "burn" : "sleep", ms(compute_us)) +
         text(
             "# wire: %.1f ms at %.1f MB/s, compute is %.2f times that; in turn with the "
             "contenders %.1f MB/s (10th perc. %.1f), a short operation: %.1f us\n",
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
std::string json_begin(const GradientTitle& title, const GradientSeries& series) {
  return text(R"({"op":"gradient","trace":"%s","scale":%g,"tensors":%zu,"bytes":%zu,"ranks":%d,)",
              title.trace.name.c_str(), title.orders.scale, title.trace.tensors.size(),
              title.trace.bytes(), title.ranks) +
         text(R"("compute":"%s","contender":"%s","codec":"%s","pairs":%zu,)",
              title.orders.burns ? "burn" : "sleep", series.name.c_str(), series.codec.c_str(),
              series.job.turns.size());
}

std::string json_line(const GradientTitle& title, const GradientSeries& series) {
  const probe::StepRow row = probe::median_of(series.medians());
  const probe::ExposedBound bound = bound_of(title, title.wire);
  const OfBound of = of_bound(title, series);
  return json_begin(title, series) +
         text(R"("step_us":%.1f,"compute_us":%.1f,"exposed_us":%.1f,"cpu_us":%.1f,)", row.step_us,
              row.compute_us, row.exposed_us, row.cpu_us) +
         text(R"("own_cpu_us":%.1f,"sent_bytes":%.0f,"replayed_us":%.1f,"wire_us":%.1f,)",
              row.own_cpu_us, row.sent_bytes, title.orders.compute_us,
              probe::wire_us(title.trace.bytes(), title.ranks, title.wire)) +
         text(R"("bytes_per_s":%.0f,"bytes_per_s_in_turn":%.0f,"latency_us":%.1f,)",
              title.wire.bytes_per_s, spread_of(title.wires, &probe::WireRate::bytes_per_s).median,
              title.wire.latency_us) +
         text(R"("bound_us":%.1f,"bound_with_latency_us":%.1f,)", bound.bytes_us,
              bound.with_latency_us) +
         text(R"("of_bound_median":%.6f,"of_bound_p10":%.6f,)", of.bytes.median, of.bytes.tenth) +
         text(R"("of_bound_with_latency_median":%.6f,"of_bound_with_latency_p10":%.6f,)",
              of.with_latency.median, of.with_latency.tenth) +
         text(R"("of_bound_in_turn_median":%.6f,"of_bound_in_turn_p10":%.6f,)", of.in_turn.median,
              of.in_turn.tenth) +
         text(R"("error":%.3g})", series.error());
}

std::string json_ratio(const GradientTitle& title, const GradientSeries& ours,
                       const GradientSeries& theirs) {
  const GradientRatio ratio = compare(theirs, ours);
  return json_begin(title, ours) + text(R"("against":"%s",)", theirs.name.c_str()) +
         text(R"("step_ratio_median":%.4f,"step_ratio_p10":%.4f,)", ratio.step.median,
              ratio.step.tenth) +
         text(R"("exposed_ratio_median":%.4f,"exposed_ratio_p10":%.4f})", ratio.exposed.median,
              ratio.exposed.tenth);
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
