#include "launcher/head/earlier_runs.h"

#include <cstddef>

#include "launcher/registry/run_log.h"
#include "launcher/registry/run_text.h"

namespace paceline::launcher {

std::optional<Baseline> earlier_baseline(const std::vector<RunEntry>& runs, const RunEntry& like) {
  const auto run = baseline_of(runs, like.command, like.directory, like.hosts);
  if (!run) return std::nullopt;
  Baseline baseline{.samples_per_s = run->figures->samples_per_s,
                    .when = local_minute(run->begin_s)};
  for (const auto& [name, share] : run->figures->shares)
    if (const auto spent = spent_named(name))
      baseline.shares[static_cast<std::size_t>(*spent)] = share;
  return baseline;
}

std::optional<WholeRun> earlier_whole_run(const std::vector<RunEntry>& runs, const RunEntry& like) {
  const auto run = whole_run_of(runs, like);
  if (!run) return std::nullopt;
  return WholeRun{.step_seconds = run->figures->step_seconds, .when = local_minute(run->begin_s)};
}

}  // namespace paceline::launcher
