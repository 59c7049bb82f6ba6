#include "launcher/tools/measure/scale/scale_report.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "comm/base/text.h"
#include "launcher/system/text_table.h"
#include "launcher/tools/measure/text_format.h"
#include "topology/render/plain_text.h"

namespace paceline::launcher {
namespace {

using Json = nlohmann::ordered_json;

constexpr Spent kSpentInTurn[] = {Spent::kCompute, Spent::kMoving, Spent::kWaiting, Spent::kInput,
                                  Spent::kOther};

std::string share_text(const std::array<double, kSpents>& parts, Spent spent, double step) {
  return text("%.0f %%", step > 0 ? 100 * part_of(parts, spent) / step : 0.0);
}

std::string time_text(double seconds) {
  return seconds < 1 ? text("%.3f ms", 1e3 * seconds) : text("%.3f s", seconds);
}

std::string percent_text(const Estimate& estimate) {
  const std::string mean = text("%.1f %%", 100 * estimate.mean);
  return estimate.half > 0 ? mean + text(" ± %.1f", 100 * estimate.half) : mean;
}

Json parts_json(const std::array<double, kSpents>& parts) {
  Json json;
  for (const Spent spent : kSpentInTurn) json[std::string(name(spent))] = part_of(parts, spent);
  return json;
}

// ---- The plot. All lengths in pixels. ---------------------------------------------------------

constexpr double kWidth = 960, kPanelHeight = 300, kLeft = 80, kRight = 200, kTop = 90;
constexpr double kGap = 80, kHeight = kTop + 2 * kPanelHeight + kGap + 60;
constexpr const char* kColours[kSpents] = {"#2f7ed8", "#f28f43", "#c42525", "#8bbc21", "#a6a6a6"};

std::string label(double x, double y, const std::string& words, const char* anchor = "middle") {
  return text("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor) +
         topology::xml_escaped(words) + "</text>\n";
}

std::string line(double x1, double y1, double x2, double y2, const char* style) {
  return text("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" style=\"%s\"/>\n", x1, y1, x2,
              y2, style);
}

std::string bar(double x, double y, double width, double height, const char* colour,
                double opacity) {
  return text(
      "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\" "
      "fill-opacity=\"%.2f\"/>\n",
      x, y, width, height, colour, opacity);
}

struct Column {
  int ranks;
  double efficiency, half;
  const std::array<double, kSpents>& parts;
  double step;
  bool is_forecast;
};

std::vector<Column> columns_of(const ScalingResult& result) {
  std::vector<Column> columns;
  for (const SizeResult& size : result.sizes)
    columns.push_back({size.ranks, size.efficiency.mean, size.efficiency.half, size.parts,
                       size.step_seconds, false});
  if (result.forecast)
    columns.push_back({result.forecast->ranks, result.forecast->efficiency, 0,
                       result.forecast->parts, result.forecast->step_seconds, true});
  return columns;
}

std::string axis(double top, const char* title) {
  std::string svg = label(kLeft, top - 36, title, "start");
  for (int percent = 0; percent <= 100; percent += 25) {
    const double y = top + kPanelHeight * (1 - percent / 100.0);
    svg += line(kLeft, y, kWidth - kRight, y, "stroke:#dddddd");
    svg += label(kLeft - 8, y + 5, std::to_string(percent) + " %", "end");
  }
  return svg;
}

}  // namespace

std::string scale_table(const ScalingResult& result) {
  const char* const rate = result.has_samples ? "SAMPLES/S" : "STEPS/S";
  std::vector<std::vector<std::string>> rows{
      {"RANKS", rate, "EFFICIENCY", "STEP", "COMPUTE", "MOVING", "WAITING", "INPUT", "OTHER"}};
  const auto add = [&rows](std::vector<std::string> row, const auto& parts, double step) {
    row.push_back(time_text(step));
    for (const Spent spent : kSpentInTurn) row.push_back(share_text(parts, spent, step));
    rows.push_back(std::move(row));
  };
  for (const SizeResult& size : result.sizes)
    add({std::to_string(size.ranks), text(size.rate.mean < 100 ? "%.3g" : "%.0f", size.rate.mean),
         percent_text(size.efficiency)},
        size.parts, size.step_seconds);
  if (const auto& forecast = result.forecast)
    add({std::to_string(forecast->ranks), "forecast", text("%.1f %%", 100 * forecast->efficiency)},
        forecast->parts, forecast->step_seconds);
  std::string table = text_table(rows);
  table += std::string(name(result.scaling)) + " scaling";
  if (result.ablated.is_any()) table += " " + result.ablated.words();
  if (const auto& forecast = result.forecast) {
    table +=
        text("; forecast: %d ranks reach %.0f %%", forecast->ranks, 100 * forecast->efficiency);
    if (forecast->eater)
      table += ", and the loss that grows most is " + std::string(name(*forecast->eater)) + " (" +
               share_text(forecast->parts, *forecast->eater, forecast->step_seconds) +
               " of a step)";
  }
  return table + "\n";
}

std::string scale_json(const ScalingResult& result, const std::string& command) {
  Json sizes = Json::array();
  for (const SizeResult& size : result.sizes)
    sizes.push_back({{"ranks", size.ranks},
                     {"rate", size.rate.mean},
                     {"rate_half_interval", size.rate.half},
                     {"efficiency", size.efficiency.mean},
                     {"efficiency_half_interval", size.efficiency.half},
                     {"step_seconds", size.step_seconds},
                     {"part_seconds", parts_json(size.parts)}});
  Json json{{"version", 1},
            {"command", command},
            {"scaling", name(result.scaling)},
            {"rate_unit", result.has_samples ? "samples/s" : "steps/s"},
            {"sizes", std::move(sizes)}};
  if (result.ablated.is_any()) json["ablated"] = result.ablated.to_text();
  if (const auto& forecast = result.forecast)
    json["forecast"] = {
        {"ranks", forecast->ranks},
        {"efficiency", forecast->efficiency},
        {"step_seconds", forecast->step_seconds},
        {"part_seconds", parts_json(forecast->parts)},
        {"growing_loss", forecast->eater ? Json(name(*forecast->eater)) : Json(nullptr)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string scale_plot(const ScalingResult& result, const std::string& command) {
  constexpr std::size_t kMostTitle = 90;
  const std::vector<Column> columns = columns_of(result);
  const double pitch = (kWidth - kLeft - kRight) / static_cast<double>(columns.size());
  const double below = kTop + kPanelHeight + kGap;
  std::string svg = text(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 "
      "%.0f %.0f\" font-family=\"sans-serif\" font-size=\"14\">\n",
      kWidth, kHeight, kWidth, kHeight);
  svg += bar(0, 0, kWidth, kHeight, "#ffffff", 1);
  const std::string title =
      (result.ablated.is_any() ? result.ablated.words() + ": " : "") + command;
  svg += label(kLeft, 26, title.substr(0, kMostTitle), "start");
  svg += axis(kTop, "scaling efficiency") + axis(below, "parts of a step");
  std::string path;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Column& column = columns[i];
    const double x = kLeft + pitch * (static_cast<double>(i) + 0.5);
    const auto height = [](double share) { return kPanelHeight * std::clamp(share, 0.0, 1.0); };
    const double y = kTop + kPanelHeight - height(column.efficiency);
    path += text("%s%.1f %.1f", path.empty() ? "M" : " L", x, y);
    svg += line(x, kTop + kPanelHeight - height(column.efficiency - column.half), x,
                kTop + kPanelHeight - height(column.efficiency + column.half), "stroke:#2f7ed8");
    svg += text("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" stroke=\"#2f7ed8\" fill=\"%s\"/>\n", x, y,
                column.is_forecast ? "#ffffff" : "#2f7ed8");
    svg += label(x, y - 12, text("%.0f %%", 100 * column.efficiency));
    double base = below + kPanelHeight;
    for (const Spent spent : kSpentInTurn) {
      const double share = column.step > 0 ? part_of(column.parts, spent) / column.step : 0;
      base -= height(share);
      svg += bar(x - pitch / 4, base, pitch / 2, height(share),
                 kColours[static_cast<std::size_t>(spent)], column.is_forecast ? 0.5 : 1);
    }
    const std::string ranks = std::to_string(column.ranks) + (column.is_forecast  ? " (forecast)"
                                                              : column.ranks == 1 ? " rank"
                                                                                  : " ranks");
    svg += label(x, kTop + kPanelHeight + 22, ranks);
    svg += label(x, below + kPanelHeight + 22, time_text(column.step));
  }
  svg += "<path d=\"" + path + "\" fill=\"none\" stroke=\"#2f7ed8\" stroke-width=\"2\"/>\n";
  for (const Spent spent : kSpentInTurn) {
    const auto i = static_cast<std::size_t>(spent);
    const double y = below + 24 * static_cast<double>(i);
    svg += bar(kWidth - kRight + 24, y, 14, 14, kColours[i], 1);
    svg += label(kWidth - kRight + 46, y + 12, std::string(name(spent)), "start");
  }
  return svg + "</svg>\n";
}

}  // namespace paceline::launcher
