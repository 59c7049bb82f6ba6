// The lines in which rank 0 of a replay, or of a peer's program, says what was measured. Pure.
//
//   measured RATE LATENCY BURN               bytes/s, us, rounds/us; before all steps
//   wire RATE LATENCY                        bytes/s, us; of a job that measures it in its turns
//   alive                                    another step has ended
//   turn                                     it has had another turn, of these steps:
//   step STEP COMPUTE EXPOSED CPU OWN SENT   us, and bytes; of each one
//   verified ERROR                           in its last turn
//   passed                                   it waits for its next turn, or has had all
//
// It waits after the steps that do not count, and after each turn, until it is told a line.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/tools/measure/probe/gradient/timeline.h"

namespace paceline::probe {

/// Microseconds. Times are the longest of all ranks, bytes the most; CPU time is a rank's, the mean
/// of all.
struct StepRow {
  double step_us = 0;
  double compute_us = 0;  ///< from the begin of the step to the end of backward
  double exposed_us = 0;  ///< the rest of the step: from where the last rank has computed
  double cpu_us = 0;      ///< of the process, in user and kernel mode
  double own_cpu_us = 0;  ///< of the pipeline's own work between operations; 0 without one
  double sent_bytes = 0;  ///< of a rank; 0 where nobody has counted them

  bool operator==(const StepRow&) const = default;
};

/// What was measured before any step.
struct SiteRow {
  WireRate wire;
  double burn_per_us = 0;

  bool operator==(const SiteRow&) const = default;
};

/// The medians of each column; zeros where there are no rows.
StepRow median_of(std::span<const StepRow> rows);

/// Steps one after the other.
using GradientTurn = std::vector<StepRow>;

/// All that a job has said.
struct GradientJob {
  std::optional<SiteRow> site;
  std::vector<WireRate> wires;  ///< turn by turn
  std::vector<GradientTurn> turns;
  std::optional<double> error;  ///< relative L2, of averages that are known exactly

  bool operator==(const GradientJob&) const = default;
};

inline constexpr const char *kAliveLine = "alive", *kTurnLine = "turn", *kPassedLine = "passed";
std::string to_line(const SiteRow& row);
std::string to_line(const WireRate& rate);
std::string to_line(const StepRow& row);
std::string verified_line(double error);
/// Lines of other kinds are passed over.
void take_line(std::string_view line, GradientJob& into);

}  // namespace paceline::probe
