#include "launcher/tools/measure/scale/scale_options.h"

#include <algorithm>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/options/option_values.h"
#include "launcher/options/run_options.h"

namespace paceline::launcher {
namespace {

constexpr int kMostRounds = 99;
constexpr std::size_t kMostSizes = 32;

constexpr const char* kHelp =
    "usage: paceline scale -n 1,2,4,8 [options] [options of run] -- PROGRAM [arguments]\n"
    "Runs a program with several numbers of ranks, in turn. Prints the scaling efficiency of each\n"
    "size, how the time of a step divides, and a forecast for twice the largest size. The program\n"
    "marks its steps and samples (paceline/steps.h).\n"
    "\n"
    "  -n LIST          Numbers of ranks, such as 1,2,4,8. The smallest is the baseline\n"
    "  --rounds K       Rounds; each runs every size once (default 3)\n"
    "  --strong         A step does the same work with any number of ranks\n"
    "  --weak           A step does the same work on each rank\n"
    "                   (default: by the samples that are marked; without samples, strong)\n"
    "  --json FILE      Write the result as JSON\n"
    "  --plot FILE      Write a plot as SVG\n"
    "  --show-output    Show the output of the ranks\n"
    "  -h, --help       This page\n"
    "\n"
    "Options of `paceline run` choose hosts, placement and environment, and what is left out\n"
    "(--ablate). Efficiencies are means over the rounds, with their 95 % interval. A forecast "
    "needs\n"
    "three sizes.\n"
    "\n"
    "Exit code: 0 for success. 125: a wrong option, or a run without marked steps. If a run "
    "fails,\n"
    "its code, after the result of the rounds that were complete.\n"
    "\n"
    "Example:  paceline scale -n 1,2,4 --plot scale.svg -- ./train --epochs 2\n";

Result<std::vector<int>> parse_sizes(const std::string& text) {
  std::vector<int> sizes;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const auto number = parse_number<int>(std::string_view(text).substr(at, comma - at));
    if (!number || *number < 1 || *number > kMaxRanks || sizes.size() == kMostSizes)
      return usage_error("-n: '" + text + "' is not a list of numbers of ranks such as 1,2,4,8");
    sizes.push_back(*number);
    at = comma + 1;
  }
  std::ranges::sort(sizes);
  if (std::ranges::adjacent_find(sizes) != sizes.end())
    return usage_error("-n: '" + text + "' has a number twice");
  return sizes;
}

Result<int> parse_rounds(const std::string& text) {
  const auto number = parse_number<int>(text);
  if (!number || *number < 1 || *number > kMostRounds)
    return usage_error("--rounds: '" + text + "' is not a number from 1 to " +
                       std::to_string(kMostRounds));
  return *number;
}

// True if the word is an option of this command. A value is the next word.
Result<bool> take(std::span<const std::string> words, std::size_t& at, ScaleRequest& into) {
  const std::string& word = words[at];
  if (word == "--strong" || word == "--weak") {
    into.scaling = word == "--weak" ? Scaling::kWeak : Scaling::kStrong;
    return true;
  }
  if (word == "--show-output") {
    into.shows_output = true;
    return true;
  }
  const bool takes_value =
      word == "-n" || word == "--rounds" || word == "--json" || word == "--plot";
  if (!takes_value) return false;
  if (at + 1 == words.size() || words[at + 1].empty())
    return usage_error("option " + word + " needs a value");
  const std::string& value = words[++at];
  if (word == "-n") {
    PACELINE_TRY_ASSIGN(into.sizes, parse_sizes(value));
  } else if (word == "--rounds") {
    PACELINE_TRY_ASSIGN(into.rounds, parse_rounds(value));
  } else {
    (word == "--json" ? into.json_file : into.plot_file) = value;
  }
  return true;
}

}  // namespace

Result<ScaleRequest> parse_scale(std::span<const std::string> arguments) {
  const auto dashes = std::ranges::find(arguments, "--");
  const auto options = static_cast<std::size_t>(dashes - arguments.begin());
  if (dashes == arguments.end() || options + 1 == arguments.size())
    return usage_error(
        "the program is missing; write it after --, as in: paceline scale -n 1,2,4 "
        "-- ./train");
  ScaleRequest request;
  std::vector<std::string> of_run;
  for (std::size_t at = 0; at < options; ++at) {
    PACELINE_TRY_ASSIGN(const bool is_taken, take(arguments.first(options), at, request));
    if (!is_taken) of_run.push_back(arguments[at]);
  }
  if (request.sizes.empty())
    return usage_error("-n is missing: the numbers of ranks, such as -n 1,2,4,8");
  of_run.insert(of_run.end(), dashes, arguments.end());
  PACELINE_TRY_ASSIGN(request.job, parse_run(of_run));
  if (request.job.programs.size() != 1)
    return usage_error("paceline scale runs one program; ':' is not allowed");
  if (request.job.programs.front().ranks != 0)
    return usage_error("paceline scale sets the number of ranks; -np is not allowed");
  if (request.job.placement.dry_run) return usage_error("--dry-run is not an option of scale");
  return request;
}

std::string scale_help() { return kHelp; }

}  // namespace paceline::launcher
