// paceline run: starts a job and stays until it has ended.
#include <cstdio>
#include <optional>
#include <string>

#include "launcher/cli/command.h"
#include "launcher/head/job_inputs.h"
#include "launcher/head/job_run.h"
#include "launcher/head/seating.h"
#include "launcher/options/placement_options.h"
#include "launcher/options/run_options.h"
#include "launcher/system/complain.h"
#include "launcher/system/signal_source.h"
#include "launcher/tools/lab/lab_job.h"

namespace paceline::launcher {
namespace {

// Everything that can be said without a host.
int plan_described_job(const JobSpec& job) {
  outlive_file_limit();
  const Result<PlacementFiles> files = read_placement_files(job.placement);
  if (!files.ok()) return complain(files.status().text());
  const Result<Seating> seating = seat_described_job(job, *files);
  if (!seating.ok()) return complain(seating.status().text());
  const Status shown = show_plan(*seating, job.placement);
  return shown.ok() ? 0 : complain(shown.text());
}

}  // namespace

int run_command(std::span<const std::string> arguments) {
  if (const auto page = run_help(arguments)) {
    std::fputs(page->c_str(), stdout);
    return 0;
  }
  const SystemClock clock;
  Timings timings(clock.now());
  Result<JobSpec> job = parse_run(arguments);
  if (!job.ok()) return complain(job.status().text() + "\nTry: paceline run --help");
  job->is_recorded = true;
  const Result<std::optional<int>> code = run_in_lab(*job, {"run"}, arguments);
  if (!code.ok()) return complain(code.status().text());
  if (*code) return **code;
  if (!job->placement.cluster_file.empty()) return plan_described_job(*job);
  if (job->ablation.is_any() && !job->placement.dry_run)
    complain("warning: --ablate " + job->ablation.to_text() +
             ": the results of this run are wrong on purpose");
  return run_job(*job, std::move(timings));
}

}  // namespace paceline::launcher
