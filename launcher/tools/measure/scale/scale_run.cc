#include "launcher/tools/measure/scale/scale_run.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "comm/base/read_file.h"
#include "comm/base/try.h"
#include "launcher/registry/run_entry.h"
#include "launcher/system/exit_status.h"
#include "launcher/tools/measure/captured_job.h"
#include "launcher/tools/measure/scratch_folder.h"

namespace paceline::launcher {
namespace {

// Programs may print nothing for long; --timeout ends them.
constexpr Duration kSilence = std::chrono::hours(24 * 365);

struct Ran {
  int exit_code = 0;
  RunFigures figures;
};

Result<Ran> run_once(const ScaleRequest& request, int ranks, const std::string& file,
                     const std::function<void(const std::string&)>& shown) {
  JobSpec job = request.job;
  job.programs.front().ranks = ranks;
  job.entry_file = file;
  const CapturedProgram program = captured_job(std::move(job), {});
  const auto take = [&](std::size_t, const std::string& line) {
    if (request.shows_output) shown(line);
    return CapturedAnswer{.silence = kSilence};
  };
  PACELINE_TRY_ASSIGN(const auto ends, run_captured(std::span(&program, 1), kSilence, take));
  if (!ends.front().wait_status)
    return Status(Code::kUnavailable, Scope::kNone, "a run did not start, or was ended");
  const int code = exit_code_of(*ends.front().wait_status);
  if (code != 0) return Ran{.exit_code = code, .figures = {}};
  const auto entry = parse_run(read_file(file));
  if (!entry || entry->ranks != ranks)
    return Status(Code::kUnavailable, Scope::kNone,
                  "a run with " + std::to_string(ranks) + " ranks left no figures in " + file);
  if (!entry->figures || !entry->figures->has_steps)
    return Status(Code::kInvalidArgument, Scope::kNone,
                  "the program has marked no steps with " + std::to_string(ranks) +
                      " ranks; mark them (paceline/steps.h, docs/telemetry.md)");
  if (request.job.ablation.input && !entry->figures->repeats_input)
    return Status(Code::kInvalidArgument, Scope::kNone,
                  "--ablate input: no rank asked for it after a step (input_is_repeated() in "
                  "paceline/steps.h)");
  return Ran{.figures = *entry->figures};
}

}  // namespace

Result<ScaleRuns> run_sizes(const ScaleRequest& request,
                            const std::function<void(const std::string&)>& progress,
                            const std::function<void(const std::string&)>& shown) {
  PACELINE_TRY_ASSIGN(const ScratchFolder scratch,
                      ScratchFolder::make(temporary_folder() + "/paceline-scale-XXXXXX"));
  ScaleRuns runs;
  int number = 0;
  for (const int ranks : request.sizes) runs.sizes.push_back({.ranks = ranks, .rounds = {}});
  for (int round = 0; round < request.rounds; ++round) {
    for (std::size_t i = 0; i < runs.sizes.size(); ++i) {
      SizeRuns& size = runs.sizes[round % 2 == 0 ? i : runs.sizes.size() - 1 - i];
      progress("round " + std::to_string(round + 1) + " of " + std::to_string(request.rounds) +
               ", " + std::to_string(size.ranks) + (size.ranks == 1 ? " rank" : " ranks"));
      PACELINE_TRY_ASSIGN(const Ran ran,
                          run_once(request, size.ranks,
                                   scratch.path() + "/run-" + std::to_string(number++), shown));
      if (ran.exit_code != 0) {
        for (SizeRuns& one : runs.sizes) one.rounds.resize(static_cast<std::size_t>(round));
        runs.exit_code = ran.exit_code;
        return runs;
      }
      size.rounds.push_back(ran.figures);
    }
  }
  return runs;
}

}  // namespace paceline::launcher
