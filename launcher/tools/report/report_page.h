// The page of `paceline report`: one HTML file without scripts, that needs no network. Pure.
#pragma once

#include <optional>
#include <string>

#include "launcher/registry/run_entry.h"
#include "launcher/tools/report/run_comparison.h"

namespace paceline::launcher {

struct ReportedRun {
  RunEntry run;  ///< has figures
  /// The one-rank run that its efficiency was measured against.
  std::optional<RunEntry> baseline;
};

std::string report_page(const ReportedRun& reported);
/// Both runs side by side, after their differences.
std::string report_page(const ReportedRun& first, const ReportedRun& second,
                        const RunComparison& comparison);

}  // namespace paceline::launcher
