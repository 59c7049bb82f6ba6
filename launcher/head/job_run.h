// A whole job, from its options to its exit code.
#pragma once

#include "launcher/head/timings.h"
#include "launcher/options/job_spec.h"

namespace paceline::launcher {

/// Runs `job` to its end and returns its exit code. Messages go to standard error, the output of
/// ranks to standard output and standard error. This process must have no threads yet. It changes
/// how signals are handled, so it can only exit afterwards.
int run_job(JobSpec job, Timings timings);

}  // namespace paceline::launcher
