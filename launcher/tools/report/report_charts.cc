#include "launcher/tools/report/report_charts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "launcher/tools/measure/text_format.h"
#include "launcher/tools/report/report_words.h"

namespace paceline::launcher {
namespace {

// In pixels of a chart that has its own width.
constexpr double kWidth = 640, kHeight = 240, kLeft = 64, kRight = 8, kTop = 8, kBottom = 28;
constexpr double kPlotWidth = kWidth - kLeft - kRight, kPlotHeight = kHeight - kTop - kBottom;
constexpr double kBarHeight = 26;
constexpr int kMostTicks = 6;
// Blocks so much slower than the median are cut off.
constexpr double kCutFrom = 2.5;

// Without blanks: the class of the style sheet.
std::string class_of(const std::string& part) { return part.substr(0, part.find(' ')); }

std::string legend_entry(const std::string& part, const std::string& more) {
  return "<li><i class=\"" + class_of(part) + "\"></i>" + html(part) + " <b>" + html(more) +
         "</b></li>";
}

// 1, 2 or 5 times a power of ten.
double tick_distance(double range) {
  const double least = range / kMostTicks;
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least) return factor * power;
  return 10 * power;
}

std::string tick_label(double x, double y, const char* anchor, const std::string& words) {
  return text("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor) + html(words) +
         "</text>\n";
}

double height_of(double seconds, double top_s) {
  return kPlotHeight * std::clamp(seconds / top_s, 0.0, 1.0);
}

std::string step_axis(double top_s) {
  std::string svg;
  const double distance = tick_distance(top_s);
  for (int i = 0; i <= kMostTicks && i * distance <= top_s; ++i) {
    const double y = kTop + kPlotHeight - height_of(i * distance, top_s);
    svg += text("<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>\n", kLeft, y, kWidth - kRight);
    svg += tick_label(kLeft - 6, y + 4, "end", i == 0 ? "0" : step_words(i * distance));
  }
  return svg;
}

std::string time_axis(double seconds) {
  constexpr double kMinute = 60, kHour = 3600;
  const double unit = seconds < 2 * kMinute ? 1 : seconds < 2 * kHour ? kMinute : kHour;
  const char* const words = unit == 1 ? "s" : unit == kMinute ? "min" : "h";
  const double range = seconds / unit, distance = tick_distance(range);
  std::string svg;
  for (int i = 0; i <= kMostTicks && i * distance <= 0.96 * range; ++i)
    svg += tick_label(kLeft + kPlotWidth * i * distance / range, kHeight - 8, "middle",
                      number_words(i * distance) + (i == 0 ? std::string(" ") + words : ""));
  return svg;
}

// The edges of blocks, from 0 to the width of the plot.
std::vector<double> edges_of(const std::vector<StepBlock>& blocks) {
  std::vector<double> edges{0};
  for (const StepBlock& block : blocks) edges.push_back(edges.back() + block.seconds());
  const double scale = kPlotWidth / edges.back();
  for (double& edge : edges) edge *= scale;
  return edges;
}

// From the first block to the last one along the upper edge, and back along the lower one.
std::string area(const std::vector<double>& edges, const std::vector<double>& lower,
                 const std::vector<double>& upper, const std::string& part) {
  std::string path;
  const auto point = [&path](double x, double height) {
    path += text("%c%.1f %.1f", path.empty() ? 'M' : 'L', kLeft + x, kTop + kPlotHeight - height);
  };
  for (std::size_t i = 0; i < upper.size(); ++i) {
    point(edges[i], upper[i]);
    point(edges[i + 1], upper[i]);
  }
  for (std::size_t i = lower.size(); i-- > 0;) {
    point(edges[i + 1], lower[i]);
    point(edges[i], lower[i]);
  }
  return "<path class=\"" + part + "\" d=\"" + path + "Z\"/>\n";
}

// A browser shows it beside the pointer.
std::string block_title(const StepBlock& block) {
  std::string words =
      number_words(block.steps) + " steps of " + step_words(block.seconds() / block.steps);
  for (std::size_t i = 0; i < kStepParts; ++i)
    words += ", " + std::string(name(static_cast<StepPart>(i))) + " " +
             share_words(block.parts[i] / block.seconds());
  return words;
}

}  // namespace

std::string shares_chart(const RunFigures& figures) {
  std::string svg = text(
      "<svg class=\"bar\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
      "preserveAspectRatio=\"none\">\n",
      kWidth, kBarHeight);
  std::string legend = "<ul class=\"legend\">";
  double x = 0;
  for (std::size_t i = 0; i < kSpents; ++i) {
    const std::string part(name(static_cast<Spent>(i)));
    const auto found = figures.shares.find(part);
    const double share = found == figures.shares.end() ? 0 : std::clamp(found->second, 0.0, 1.0);
    svg += "<rect class=\"" + class_of(part) +
           text("\" x=\"%.1f\" width=\"%.1f\" height=\"%.0f\"/>\n", x, kWidth * share, kBarHeight);
    legend += legend_entry(part, share_words(share));
    x += kWidth * share;
  }
  return svg + "</svg>\n" + legend + "</ul>\n";
}

double chart_top(const std::vector<StepBlock>& blocks) {
  std::vector<double> steps;
  for (const StepBlock& block : blocks) steps.push_back(block.seconds() / block.steps);
  if (steps.empty()) return 0;
  std::ranges::sort(steps);
  return 1.05 * std::min(steps.back(), kCutFrom * steps[steps.size() / 2]);
}

std::string steps_chart(const std::vector<StepBlock>& blocks, double top_s) {
  const std::vector<double> edges = edges_of(blocks);
  std::string svg = text("<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n", kWidth, kHeight);
  std::string legend = "<ul class=\"legend\">";
  std::vector<double> lower(blocks.size()), sums(blocks.size());
  StepBlock all;
  for (const StepBlock& block : blocks) all += block;
  for (std::size_t part = 0; part < kStepParts; ++part) {
    std::vector<double> upper;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      sums[i] += std::max(0.0, blocks[i].parts[part]) / blocks[i].steps;
      upper.push_back(height_of(sums[i], top_s));
    }
    const std::string words(name(static_cast<StepPart>(part)));
    svg += area(edges, lower, upper, words);
    legend += legend_entry(words, step_words(all.parts[part] / all.steps));
    lower = std::move(upper);
  }
  svg += step_axis(top_s) + time_axis(all.seconds());
  for (std::size_t i = 0; i < blocks.size(); ++i)
    svg += text(
               "<rect class=\"hover\" x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%.0f\">"
               "<title>",
               kLeft + edges[i], kTop, edges[i + 1] - edges[i], kPlotHeight) +
           html(block_title(blocks[i])) + "</title></rect>\n";
  return svg + "</svg>\n" + legend + "</ul>\n";
}

}  // namespace paceline::launcher
