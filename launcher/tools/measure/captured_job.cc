#include "launcher/tools/measure/captured_job.h"

#include <utility>

#include "comm/base/clock.h"
#include "launcher/head/job_run.h"
#include "launcher/head/timings.h"

namespace paceline::launcher {

CapturedProgram captured_job(JobSpec job, const std::vector<std::string>& arguments, bool listens) {
  std::vector<std::string>& command = job.programs.front().command;
  command.insert(command.end(), arguments.begin(), arguments.end());
  job.tag_output = false;
  job.quiet = true;
  if (!listens) job.stdin_rank.reset();
  const auto body = [job = std::move(job)] {
    const SystemClock clock;
    return run_job(job, Timings(clock.now()));
  };
  return {.runs = body, .environment = {}, .shows_errors = true, .listens = listens};
}

}  // namespace paceline::launcher
