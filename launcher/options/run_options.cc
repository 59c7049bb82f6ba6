#include "launcher/options/run_options.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "comm/base/try.h"
#include "launcher/options/command_words.h"
#include "launcher/options/hostfile.h"
#include "launcher/options/option_values.h"
#include "launcher/options/placement_options.h"
#include "launcher/options/run_option_rows.h"

namespace paceline::launcher {
namespace {

constexpr std::string_view kRunUsage =
    "usage: paceline run [options] [--] program [arguments…] [: [options] program…]…\n"
    "Starts N ranks of a program, shows their output, and ends with them.\n";
constexpr std::string_view kExamples =
    "\n"
    "More options: --help-hosts, --help-placement, --help-restarts, --help-telemetry.\n"
    "Variables: paceline info\n"
    "\n"
    "Examples:\n"
    "  paceline run -n 4 ./train --epochs 3\n"
    "  paceline run -n 8 --output-dir logs/%j --console-ranks 0 -- python3 train.py\n"
    "  paceline run -n 1 ./server : -n 4 -x OMP_NUM_THREADS=4 ./worker\n"
    "\n"
    "Exit code: 0, or that of the rank that caused the failure (or 128 + signal). 124: --timeout\n"
    "expired. 125: paceline itself failed. 126, 127: a program cannot be executed, was not found.\n"
    "129: SIGHUP. 130: SIGINT. 141: the output was closed. 143: SIGTERM (0: all ended with 0).\n";

constexpr std::array kPerProgram = {"np", "env", "wdir", "host"};

std::vector<KnownOption> known_options() {
  JobSpec job;
  ProgramSpec program;
  CLI::App app;
  add_run_options(app, job, program);
  std::vector<KnownOption> known;
  for (const CLI::Option* option : app.get_options()) {
    const std::string& name = option->get_lnames().front();
    known.push_back(
        {.name = name,
         .letter = option->get_snames().empty() ? '\0' : option->get_snames().front().front(),
         .takes_value = option->get_items_expected_max() > 0,
         .takes_number = name == "np",
         .per_program =
             std::find(kPerProgram.begin(), kPerProgram.end(), name) != kPerProgram.end()});
  }
  return known;
}

// As CLI11 writes them: one group that has a page of its own, or, for "", all other groups.
std::string groups_text(std::string_view page) {
  JobSpec unused;
  ProgramSpec unused_too;
  CLI::App app;
  add_run_options(app, unused, unused_too);
  for (CLI::Option* option : app.get_options()) {
    const std::string& group = option->get_group();
    const bool has_page =
        std::ranges::any_of(kHelpPages, [&](const HelpPage& one) { return group == one.group; });
    if ((has_page ? group : "") != page) option->group("");
  }
  CLI::Formatter formatter;
  formatter.column_width(24);
  std::string text = formatter.make_groups(&app, CLI::AppFormatMode::Normal);
  for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;)
    text.erase(at, 1);  // CLI11 sets groups two lines apart
  return text;
}

// Options of the whole job go to `job`.
Result<ProgramSpec> parse_program(ProgramWords words, JobSpec& job) {
  ProgramSpec program;
  program.command = std::move(words.program);
  CLI::App app;
  add_run_options(app, job, program);
  try {
    app.parse(std::vector<std::string>(words.options.rbegin(), words.options.rend()));
  } catch (const CLI::ParseError& error) {
    return usage_error(error.what());
  }
  return program;
}

Status check_rank(const char* option, int rank, int ranks) {
  if (rank < ranks) return Status();
  const std::string there = ranks == 1 ? "only rank 0" : "ranks 0 to " + std::to_string(ranks - 1);
  return usage_error(std::string(option) + ": there is no rank " + std::to_string(rank) +
                     "; the job has " + there);
}

// After each program, so that the sum stays a small number.
Status check_bound(const JobSpec& job) {
  if (job.ranks() <= kMaxRanks) return Status();
  return usage_error("the programs have more than " + std::to_string(kMaxRanks) +
                     " ranks in total");
}

// What no option can judge alone.
Status check_job(const JobSpec& job) {
  if (!job.hosts.empty() && !job.host_file.empty())
    return usage_error("-H and --hostfile both select hosts; use one of them");
  if (!job.engine.empty() && !job.launch_agent.empty())
    return usage_error("--engine and --launch-agent both select how agents start; use one of them");
  if (job.restarts.max_restarts == 0 && job.restarts != RestartRules())
    return usage_error("--restart-window, --restart-delay and --cool-down need --max-restarts");
  PACELINE_TRY(check_placement(job));
  return job.states_ranks() ? check_named_ranks(job) : Status();
}

Result<JobSpec> job_of(std::vector<ProgramWords> programs) {
  JobSpec job;
  for (ProgramWords& words : programs) {
    PACELINE_TRY_ASSIGN(ProgramSpec program, parse_program(std::move(words), job));
    job.programs.push_back(std::move(program));
    PACELINE_TRY(check_bound(job));
  }
  PACELINE_TRY(check_job(job));
  return job;
}

}  // namespace

Status check_named_ranks(const JobSpec& job) {
  PACELINE_TRY(check_bound(job));
  PACELINE_TRY(check_rank("--stdin", job.stdin_rank.value_or(0), job.ranks()));
  return check_rank("--console-ranks", job.console_ranks.highest_named(), job.ranks());
}

Result<JobSpec> parse_run(std::span<const std::string> arguments) {
  const std::vector<KnownOption> known = known_options();
  const bool starts = !mentions(known, arguments, "dry-run");
  PACELINE_TRY_ASSIGN(std::vector<ProgramWords> programs, sort_words(known, arguments, starts));
  return job_of(std::move(programs));
}

Result<JobSpec> parse_job_options(std::span<const std::string> options) {
  PACELINE_TRY_ASSIGN(std::vector<ProgramWords> programs,
                      sort_words(known_options(), options, false));
  return job_of(std::move(programs));
}

std::optional<std::string> run_help(std::span<const std::string> arguments) {
  const auto asks = [known = known_options(), arguments](const char* option) {
    return mentions(known, arguments, option);
  };
  if (asks("help")) return std::string(kRunUsage) + groups_text("") + std::string(kExamples);
  for (const HelpPage& page : kHelpPages)
    if (asks(page.flag)) return page.usage + groups_text(page.group);
  if (asks("help-placement")) return placement_help();
  return std::nullopt;
}

std::string expand_output_directory(std::string directory, std::string_view job_id,
                                    const std::string& current) {
  constexpr std::string_view kJobId = "%j";
  for (std::size_t at = 0; (at = directory.find(kJobId, at)) != std::string::npos;
       at += job_id.size())
    directory.replace(at, kJobId.size(), job_id);
  if (directory.empty() || directory.starts_with('/')) return directory;
  return current + "/" + directory;
}

}  // namespace paceline::launcher
