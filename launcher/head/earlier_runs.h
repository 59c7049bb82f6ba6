// What the run record says about earlier runs of a job's command, for its closing lines. Pure.
#pragma once

#include <optional>
#include <vector>

#include "launcher/registry/run_entry.h"
#include "telemetry/job/closing_lines.h"

namespace paceline::launcher {

/// The one-rank run that a job like `like` is compared with (baseline_of()). Of `like`, only
/// command, directory, hosts and ranks count, also below.
std::optional<Baseline> earlier_baseline(const std::vector<RunEntry>& runs, const RunEntry& like);

/// The run that a job with --ablate is compared with (whole_run_of()).
std::optional<WholeRun> earlier_whole_run(const std::vector<RunEntry>& runs, const RunEntry& like);

}  // namespace paceline::launcher
