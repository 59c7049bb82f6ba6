// The arguments of `paceline run`. Pure: nothing is read but what is passed in.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <paceline/status.h>

#include "launcher/options/job_spec.h"

namespace paceline::launcher {

/// `arguments` begin after the word run. Options end at "--" or at the first word that is not one;
/// the rest is the program with its arguments, up to a word ":", behind which the next program and
/// its own options stand. Long options may be written with one dash, as mpirun's users do: -np 4.
/// An error says which word is wrong, and what was likely meant.
///
/// The number of ranks of a program without -n is 0: count_ranks() sets it. What is accepted has
/// at most kMaxRanks ranks. If -n states them all, it names no rank beyond them.
Result<JobSpec> parse_run(std::span<const std::string> arguments);

/// Options of a job alone, for a command that knows the program itself: `programs` has one, without
/// its command.
Result<JobSpec> parse_job_options(std::span<const std::string> options);

/// The programs, each with its number of ranks, have at most kMaxRanks, and the ranks that --stdin
/// and --console-ranks name exist.
Status check_named_ranks(const JobSpec& job);

/// The page that the options ask for (not the program's arguments): --help or -h, which is one
/// screen, --help-hosts, --help-restarts, --help-telemetry, or --help-placement. None: they ask for
/// no page.
std::optional<std::string> run_help(std::span<const std::string> arguments);

/// The folder that --output-dir means: each %j is the job's id, and a relative path starts at
/// `current`. Empty stays empty.
std::string expand_output_directory(std::string directory, std::string_view job_id,
                                    const std::string& current);

}  // namespace paceline::launcher
