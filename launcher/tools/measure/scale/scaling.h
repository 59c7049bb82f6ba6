// How the speed of a program changes with its number of ranks, from runs of several sizes. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "comm/base/ablation.h"
#include "launcher/registry/run_entry.h"
#include "telemetry/job/job_account.h"

namespace paceline::launcher {

/// Strong: all sizes do the same work in a step. Weak: each rank does.
enum class Scaling { kStrong, kWeak };
std::string_view name(Scaling scaling);

inline double part_of(const std::array<double, kSpents>& parts, Spent spent) {
  return parts[static_cast<std::size_t>(spent)];
}

/// The runs of one size, one for each round.
struct SizeRuns {
  int ranks = 0;
  std::vector<RunFigures> rounds;
};

/// A mean over rounds, and half of its 95 % interval (Student's t); 0 for one round.
struct Estimate {
  double mean = 0;
  double half = 0;
};

struct SizeResult {
  int ranks = 0;
  Estimate rate;        ///< samples per second, or steps of one rank's work if nobody marks samples
  Estimate efficiency;  ///< rate a rank, divided by that of the smallest size of the same round
  double step_seconds = 0;
  std::array<double, kSpents> parts{};  ///< seconds of a step, by Spent
  bool moves_long = false;              ///< most exposed time is of long operations
};

struct Forecast {
  int ranks = 0;  ///< twice the largest size
  double efficiency = 0;
  double step_seconds = 0;
  std::array<double, kSpents> parts{};
  std::optional<Spent> eater{};  ///< the loss whose share of a step grows the most; none grows
};

struct ScalingResult {
  Scaling scaling{};
  bool has_samples = false;
  std::vector<SizeResult> sizes;     ///< by ranks, ascending
  std::optional<Forecast> forecast;  ///< of three sizes or more
  Ablation ablated{};                ///< what the runs left out
};

/// Every run has steps, and every size has as many rounds; at least one. `stated`: what the user
/// says about the work of a step; else the samples of a step decide, or, without samples, it is
/// strong.
ScalingResult scaling_of(std::vector<SizeRuns> runs, std::optional<Scaling> stated);

}  // namespace paceline::launcher
