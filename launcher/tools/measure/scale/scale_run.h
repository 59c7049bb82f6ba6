// Runs the jobs of `paceline scale`.
#pragma once

#include <functional>
#include <string>

#include <paceline/status.h>

#include "launcher/tools/measure/scale/scale_options.h"

namespace paceline::launcher {

/// The runs by size, of whole rounds. If a run fails, its exit code.
struct ScaleRuns {
  std::vector<SizeRuns> sizes;
  int exit_code = 0;
};

/// Runs all sizes once in each round, one after another; every second round in the other order.
/// `progress` gets a line before each run, `shown` each line of the ranks. adopt_orphans() must
/// have been called, and this process may have no other child.
Result<ScaleRuns> run_sizes(const ScaleRequest& request,
                            const std::function<void(const std::string&)>& progress,
                            const std::function<void(const std::string&)>& shown);

}  // namespace paceline::launcher
