// What the ranks of `paceline bench gradient` are told to do: "gradient name=value…" on their
// command line, those of a peer likewise. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <paceline/status.h>

namespace paceline::probe {

/// What they do. kShow needs no other ranks.
enum class GradientTask : std::uint8_t {
  kReplay,   ///< steps, and rows of what they took
  kMeasure,  ///< only the rate of the wire, and how fast a core burns
  kWire,     ///< the rate of the wire in each turn
  kShow,     ///< the trace's tensors and their times, a line each, for a peer's program
};

struct GradientOrders {
  GradientTask task = GradientTask::kReplay;
  std::string trace = "resnet50";
  double scale = 1;        ///< of each tensor's elements
  bool burns = false;      ///< computing keeps the core busy; else it sleeps
  double compute_us = 0;   ///< of a step
  double burn_per_us = 0;  ///< rounds of the burning loop
  std::string reducer = "none";
  std::string codec = "none";
  int warm_ups = 1;  ///< steps that do not count
  int turns = 5;
  int steps = 5;        ///< of a turn
  int timeout_s = 300;  ///< of an operation

  bool operator==(const GradientOrders&) const = default;
};

/// The first of the words.
inline constexpr const char* kGradientMode = "gradient";

/// Without the mode; a value that is the default is left out.
std::vector<std::string> to_words(const GradientOrders& orders);
/// Their inverse. An error names the word.
Result<GradientOrders> parse_gradient_orders(std::span<const std::string> words);

}  // namespace paceline::probe
