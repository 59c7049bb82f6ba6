// The options of `paceline run` as rows of CLI11. Of this folder alone.
#pragma once

#include <array>

#include <CLI/CLI.hpp>

#include "launcher/options/job_spec.h"

namespace paceline::launcher {

// The groups that have a page of their own in the help.
inline constexpr const char* kOtherHosts = "Agents on other hosts";
inline constexpr const char* kTelemetry = "Telemetry";
inline constexpr const char* kRestarts = "Restarts and faults";

/// The pages of the help beside --help and --help-placement.
struct HelpPage {
  const char* group;
  const char* flag;
  const char* usage;
};
inline constexpr std::array kHelpPages{
    HelpPage{kOtherHosts, "help-hosts",
             "usage: paceline run -H A,B [options] [--] program [arguments…]\n"
             "Options for agents, which start the ranks of other hosts. All are optional.\n"},
    HelpPage{kRestarts, "help-restarts",
             "usage: paceline run [options] [--] program [arguments…]\n"
             "Options for jobs that go on after a failure (--max-restarts N), and for drills.\n"},
    HelpPage{kTelemetry, "help-telemetry",
             "usage: paceline run [options] [--] program [arguments…]\n"
             "Options to see how fast the job is, and what its time is lost to "
             "(docs/telemetry.md).\n"}};

/// Values go to `job` and `program`, which are borrowed. A wrong one makes CLI11 throw.
void add_run_options(CLI::App& app, JobSpec& job, ProgramSpec& program);

}  // namespace paceline::launcher
