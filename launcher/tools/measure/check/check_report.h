// A check as people read it. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/connectivity/measurements.h"
#include "launcher/tools/measure/check/host_rules.h"
#include "launcher/tools/measure/check/verdict.h"

namespace paceline::launcher {

/// What is not fine, or everything, and how much is. What is the same on all hosts stands once.
std::string findings_text(const std::vector<Finding>& findings, std::size_t hosts, bool all);

/// Bandwidth and latency of every pair, a row for each host that sends; only the extremes where
/// there are more hosts than fit on a line.
std::string links_text(const probe::Measurements& measured);

/// In nccl-tests' columns, and what went over the wire.
std::string reductions_text(const probe::Measurements& measured);

/// The last lines: the verdict, and whom it is about.
std::string verdict_text(const probe::Measurements& measured, const Verdict& verdict);

}  // namespace paceline::launcher
