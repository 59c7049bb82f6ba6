// The lines about the speed of a job at its end. Pure.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "comm/base/ablation.h"
#include "telemetry/job/job_account.h"

namespace paceline {

/// The one-rank run of the same program.
struct Baseline {
  double samples_per_s = 0;
  std::array<double, kSpents> shares{};  ///< of its time
  std::string when;                      ///< "2026-11-29 12:30"
};

/// Throughput of n ranks divided by n times that of one rank. None without a baseline or samples,
/// or if not all ranks mark steps.
std::optional<double> scaling_efficiency(const JobSummary& summary,
                                         const std::optional<Baseline>& baseline);

/// Lines without a newline; none for a job of a few seconds that marks no steps. `hosts`: of each
/// rank; all the same: hosts are not named.
std::vector<std::string> closing_lines(const JobSummary& summary,
                                       const std::vector<std::string>& hosts,
                                       const std::optional<Baseline>& baseline);

/// A run of the same command with the same ranks, from which nothing was left out.
struct WholeRun {
  double step_seconds = 0;  ///< above 0
  std::string when;         ///< "2026-11-29 12:30"
};

/// The lines in place of closing_lines() for a job that leaves something out: how fast it is
/// without that. `summary`: none if no rank has used the library.
std::vector<std::string> ceiling_lines(const std::optional<JobSummary>& summary,
                                       const Ablation& ablation,
                                       const std::optional<WholeRun>& whole);

}  // namespace paceline
