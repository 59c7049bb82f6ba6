#include "launcher/tools/measure/captured_job.h"

#include <utility>

#include "comm/base/clock.h"
#include "launcher/head/job_run.h"
#include "launcher/head/timings.h"

namespace paceline::launcher {

CapturedProgram::Body body_of(JobSpec job) {
  return [job = std::move(job)] {
    const SystemClock clock;
    return run_job(job, Timings(clock.now()));
  };
}

}  // namespace paceline::launcher
