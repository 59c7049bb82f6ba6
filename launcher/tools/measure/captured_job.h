// A job as a child process whose lines are read.
#pragma once

#include <string>
#include <vector>

#include "launcher/options/job_spec.h"
#include "launcher/tools/measure/captured_run.h"

namespace paceline::launcher {

/// The child runs `job` as `paceline run` does, so this process may have no thread. `arguments` are
/// added to the command of the first program. The output has no tags, and errors are shown. If the
/// job listens, rank 0 is told the lines; else standard inputs are empty.
CapturedProgram captured_job(JobSpec job, const std::vector<std::string>& arguments,
                             bool listens = false);

}  // namespace paceline::launcher
