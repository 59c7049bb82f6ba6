// paceline runs: the run record of this user on this host.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "comm/base/text.h"
#include "launcher/cli/command.h"
#include "launcher/options/plain_options.h"
#include "launcher/registry/run_log.h"
#include "launcher/registry/run_text.h"
#include "launcher/system/complain.h"

namespace paceline::launcher {
namespace {

constexpr const char* kHelp =
    "usage: paceline runs [--last N] [--json]\n"
    "Lists your runs that have ended, the oldest first.\n"
    "`paceline run` records them in the folder $XDG_STATE_HOME/paceline or\n"
    "~/.local/state/paceline, in files of at most 2 MiB in all.\n"
    "\n"
    "  --last N   only the last N (default 20; 0: all)\n"
    "  --json     an array of the objects in the record, with the share of each loss\n"
    "\n"
    "EFFICIENCY is the scaling efficiency: samples per second of N ranks, divided by N times "
    "those\n"
    "of one rank. The latter are from the latest recorded run with one rank: of the same command,\n"
    "in the same folder, on a host of the job. Without such a run the efficiency is an estimate,\n"
    "compute time / step time, with a ~. Programs mark their steps and samples for it\n"
    "(paceline/steps.h).\n"
    "\n"
    "Exit code: 0, also if there are no runs. 125: a wrong argument.\n"
    "\n"
    "Example:\n"
    "  paceline run -n 1 -- ./train\n"
    "  paceline run -n 8 -- ./train\n"
    "  paceline runs --last 2";

constexpr std::size_t kLast = 20;

}  // namespace

int runs_command(std::span<const std::string> arguments) {
  if (asks_for_help(arguments)) {
    std::puts(kHelp);
    return 0;
  }
  static constexpr PlainOption kOptions[] = {{"--last", true}, {"--json", false}};
  const auto given = given_options(
      {.name = "runs", .options = kOptions, .hint = "Try: paceline runs --help"}, arguments);
  if (!given.ok()) return complain(given.status().text());
  std::size_t last = kLast;
  bool as_json = false;
  for (const GivenOption& option : *given) {
    if (option.name == "--json") as_json = true;
    if (option.name != "--last") continue;
    const auto count = parse_number<std::uint32_t>(option.value);
    if (!count) return complain("--last " + option.value + " is not a number of runs");
    last = *count;
  }
  const auto folder = RunLog::user_folder([](const char* name) { return std::getenv(name); });
  if (!folder) return complain("no run record: set XDG_STATE_HOME or HOME to an absolute path");
  std::vector<RunEntry> runs = RunLog(*folder).read();
  if (last > 0 && runs.size() > last)
    runs.erase(runs.begin(), runs.end() - static_cast<std::ptrdiff_t>(last));
  if (as_json)
    std::fputs(runs_json(runs).c_str(), stdout);
  else if (runs.empty())
    std::printf("no runs are recorded in %s\n", folder->c_str());
  else
    std::fputs(runs_table(runs).c_str(), stdout);
  return 0;
}

}  // namespace paceline::launcher
