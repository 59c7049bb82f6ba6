// paceline scale: how the speed of a program changes with its number of ranks.
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/cli/command.h"
#include "launcher/options/run_options.h"
#include "launcher/system/complain.h"
#include "launcher/system/new_file.h"
#include "launcher/system/process.h"
#include "launcher/tools/lab/lab_job.h"
#include "launcher/tools/measure/scale/scale_options.h"
#include "launcher/tools/measure/scale/scale_report.h"
#include "launcher/tools/measure/scale/scale_run.h"

namespace paceline::launcher {
namespace {

std::string command_text(const JobSpec& job) {
  std::string text;
  for (const std::string& word : job.programs.front().command)
    text.append(text.empty() ? "" : " ").append(word);
  return text;
}

// Null: the user wants no such file.
Result<std::unique_ptr<NewFile>> file_at(const std::string& path) {
  if (path.empty()) return std::unique_ptr<NewFile>();
  return NewFile::make(path);
}

Result<int> scale(const ScaleRequest& request) {
  PACELINE_TRY_ASSIGN(const auto json, file_at(request.json_file));
  PACELINE_TRY_ASSIGN(const auto plot, file_at(request.plot_file));
  PACELINE_TRY(adopt_orphans());
  const auto progress = [](const std::string& line) {
    std::fprintf(stderr, "paceline: %s\n", line.c_str());
  };
  const auto shown = [](const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  };
  const Ablation& ablated = request.job.ablation;
  if (ablated.is_any())
    progress("warning: --ablate " + ablated.to_text() +
             ": results of programs are wrong on purpose");
  PACELINE_TRY_ASSIGN(ScaleRuns runs, run_sizes(request, progress, shown));
  if (runs.sizes.front().rounds.empty()) return runs.exit_code;
  ScalingResult result = scaling_of(std::move(runs.sizes), request.scaling);
  result.ablated = ablated;
  std::fputs(scale_table(result).c_str(), stdout);
  const std::string command = command_text(request.job);
  if (json) PACELINE_TRY(json->keep(scale_json(result, command)));
  if (plot) PACELINE_TRY(plot->keep(scale_plot(result, command)));
  return runs.exit_code;
}

}  // namespace

int scale_command(std::span<const std::string> arguments) {
  if (run_help(arguments)) {
    std::fputs(scale_help().c_str(), stdout);
    return 0;
  }
  Result<ScaleRequest> request = parse_scale(arguments);
  if (!request.ok()) return complain(request.status().text() + "\nTry: paceline scale --help");
  const Result<std::optional<int>> in_lab = run_in_lab(request->job, {"scale"}, arguments);
  if (!in_lab.ok()) return complain(in_lab.status().text());
  if (*in_lab) return **in_lab;
  const Result<int> code = scale(*request);
  return code.ok() ? *code : complain(code.status().text());
}

}  // namespace paceline::launcher
