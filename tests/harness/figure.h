// Reports a figure from a program of tests/figures: one line for each figure, which
// tests/figures/run reads. tests/support/figures.py prints the same line from Python.
//
//   const bool holds = report({.name = "sums, share of memcpy", .value = 0.91, .unit = "x",
//                              .better = Better::kHigher, .wanted = 0.8});
#pragma once

#include <cstdio>
#include <optional>
#include <string>

namespace paceline::testing {

enum class Better { kLower, kHigher };

struct Figure {
  std::string name;  ///< unique in its program; without quotes and backslashes, as is the unit
  double value = 0;
  std::string unit;
  Better better = Better::kLower;
  std::optional<double> wanted;  ///< the bound, if any
};

/// Prints the figure. Returns whether it holds its bound.
inline bool report(const Figure& figure) {
  const bool is_lower = figure.better == Better::kLower;
  std::printf(R"(figure: {"name": "%s", "value": %.9g, "unit": "%s", "better": "%s", "wanted": )",
              figure.name.c_str(), figure.value, figure.unit.c_str(),
              is_lower ? "lower" : "higher");
  if (figure.wanted) {
    std::printf("%.9g}\n", *figure.wanted);
  } else {
    std::puts("null}");
  }
  std::fflush(stdout);  // shown as soon as it is measured
  if (!figure.wanted) return true;
  return is_lower ? figure.value <= *figure.wanted : figure.value >= *figure.wanted;
}

}  // namespace paceline::testing
