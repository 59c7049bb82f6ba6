// Finds hosts whose CPUs held up their flows. Pure.
#pragma once

#include <vector>

#include "launcher/connectivity/measurements.h"
#include "launcher/tools/measure/check/judged_rates.h"
#include "launcher/tools/measure/check/verdict.h"

namespace paceline::launcher {

struct CpuBoundHosts {
  std::vector<Blame> blames;
  std::vector<Direction> explained;  ///< slow single flows that waited for these CPUs
};

/// The evidence says what held the CPUs: the quota of a control group, or other programs, with the
/// host's load. A single slow flow is no proof: somebody else may have had the CPU for a moment.
CpuBoundHosts blame_cpus(const probe::Measurements& measured, const JudgedRates& one_way,
                         const JudgedRates& both_ways);

}  // namespace paceline::launcher
