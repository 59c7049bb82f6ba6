// Tables of a report, in HTML. Pure; empty if there is nothing to show.
#pragma once

#include <string>

#include "launcher/registry/run_entry.h"
#include "launcher/tools/report/run_comparison.h"

namespace paceline::launcher {

/// The evidence of each rank; columns without any value are left out. The run has figures.
std::string ranks_table(const RunEntry& run);
/// How the hosts were used, and their GPUs; the same.
std::string hosts_table(const RunEntry& run);
std::string gpus_table(const RunEntry& run);
std::string operations_table(const RunEntry& run);
std::string facts_table(const RunEntry& run);
/// All quantities of both runs, with their standard errors.
std::string comparison_table(const RunComparison& comparison);

}  // namespace paceline::launcher
