// A job as a child process whose lines are read.
#pragma once

#include "launcher/options/job_spec.h"
#include "launcher/tools/measure/captured_run.h"

namespace paceline::launcher {

/// The child runs `job` as `paceline run` does. So this process may have no thread.
CapturedProgram::Body body_of(JobSpec job);

}  // namespace paceline::launcher
