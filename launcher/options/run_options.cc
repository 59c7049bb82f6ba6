#include "launcher/options/run_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include <CLI/CLI.hpp>

#include "comm/base/try.h"
#include "launcher/options/nearest.h"

namespace paceline::launcher {
namespace {

constexpr int kMaxRanks = 65536;
constexpr double kMaxSeconds = 366.0 * 24 * 3600;

constexpr std::string_view kUsage =
    "usage: paceline run [options] [--] program [arguments…]\n"
    "Starts N ranks of a program, shows what they write, and ends with them.\n";
constexpr std::string_view kExamples =
    "\nExamples:\n"
    "  paceline run -n 4 ./train --epochs 3\n"
    "  paceline run -np 2 -x OMP_NUM_THREADS=4 --timeout 3600 -- python3 train.py\n"
    "  paceline run -n 8 --no-tag-output hostname | sort | uniq -c\n\n"
    "Exit code: that of the first rank that failed, or 128 + its signal; 124 after --timeout;\n"
    "125 for a mistake here; 126 and 127 where the program cannot be executed or found;\n"
    "130 after SIGINT; 143 after SIGTERM, unless every rank ended with 0.\n"
    "`paceline info` lists the environment variables that tune a job.\n";

// The arguments cut in two, with every option as --name or --name=value.
struct Split {
  std::vector<std::string> options;
  std::vector<std::string> program;
};

Status wrong(const std::string& text) {
  return Status(Code::kInvalidArgument, Scope::kOperation, text);
}

template <class T>
bool parse_whole(std::string_view text, T& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc() && end == text.data() + text.size();
}

int parse_ranks(const std::string& text) {
  int ranks = 0;
  if (!parse_whole(text, ranks) || ranks < 1 || ranks > kMaxRanks)
    throw CLI::ValidationError(
        "-n", "'" + text + "' is not a whole number from 1 to " + std::to_string(kMaxRanks));
  return ranks;
}

std::chrono::nanoseconds parse_seconds(const char* option, const std::string& text) {
  double seconds = 0;
  if (!parse_whole(text, seconds) || !(seconds >= 0 && seconds <= kMaxSeconds))
    throw CLI::ValidationError(option,
                               "'" + text + "' is not a number of seconds from 0 to a year");
  return std::chrono::nanoseconds(std::llround(seconds * 1e9));
}

EnvironmentSetting parse_setting(const std::string& text) {
  const std::size_t equals = text.find('=');
  EnvironmentSetting setting{.name = text.substr(0, equals), .value = std::nullopt};
  if (setting.name.empty())
    throw CLI::ValidationError("-x", "'" + text + "' names no variable; write -x NAME=value");
  if (equals != std::string::npos) setting.value = text.substr(equals + 1);
  return setting;
}

void add_options(CLI::App& app, JobSpec& job) {
  const auto text = [&app](const char* names, auto use, const char* form, const char* meaning,
                           const char* group) {
    app.add_option_function<std::string>(names, use, meaning)
        ->type_name(form)
        ->group(group)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  };
  app.set_help_flag();
  text(
      "-n,--np", [&job](const std::string& value) { job.ranks = parse_ranks(value); }, "N",
      "How many ranks (default 1); also -np", "Ranks");
  text(
      "--wdir", [&job](const std::string& value) { job.working_directory = value; }, "DIR",
      "Working directory of the ranks", "Ranks");
  app.add_option_function<std::vector<std::string>>(
         "-x,--env",
         [&job](const std::vector<std::string>& values) {
           for (const std::string& value : values) job.environment.push_back(parse_setting(value));
         },
         "Set a variable for the ranks, or export it from here; may be repeated")
      ->type_name("VAR[=VALUE]")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group("Ranks");
  app.add_flag_callback(
         "--tag-output", [&job] { job.tag_output = true; },
         "Begin each line with [rank@host]; the default where N > 1")
      ->group("Output");
  app.add_flag_callback(
         "--no-tag-output", [&job] { job.tag_output = false; },
         "Whole lines as they are; the default where N = 1")
      ->group("Output");
  text(
      "--timeout",
      [&job](const std::string& value) { job.timeout = parse_seconds("--timeout", value); }, "S",
      "End the job after S seconds; 0, the default: never", "End");
  text(
      "--grace", [&job](const std::string& value) { job.grace = parse_seconds("--grace", value); },
      "S", "From SIGTERM to SIGKILL for ranks that do not end (default 10)", "End");
  app.add_flag("-h,--help")->description("This page")->group("Help");
}

std::vector<std::string> known_options(const CLI::App& app) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  return known;
}

struct Word {
  std::string name;                  // "--np"
  std::optional<std::string> value;  // attached to it
};

// -name means --name where there is one; -n4 is -n 4, and so is -np4.
Word read_word(const CLI::App& app, std::string_view word) {
  const std::size_t equals = word.find('=');
  const auto attached = [&](std::size_t at) { return std::string(word.substr(at)); };
  std::optional<std::string> value;
  if (equals != std::string_view::npos) value = attached(equals + 1);
  const std::string name(word.substr(0, equals));
  if (name.starts_with("--")) return {name, value};
  if (name.size() > 2 && app.get_option_no_throw("-" + name) != nullptr) return {"-" + name, value};
  if (name.starts_with("-np")) return {"--np", attached(3)};
  if (word.size() > 2 && app.get_option_no_throw(name.substr(0, 2)) != nullptr)
    return {name.substr(0, 2), attached(word[2] == '=' ? 3 : 2)};
  return {name, value};
}

Result<Split> split(const CLI::App& app, std::span<const std::string> arguments) {
  Split parts;
  std::size_t at = 0;
  for (; at < arguments.size(); ++at) {
    const std::string& argument = arguments[at];
    if (argument == "--" || argument.size() < 2 || argument[0] != '-') break;
    Word word = read_word(app, argument);
    const CLI::Option* option = app.get_option_no_throw(word.name);
    if (option == nullptr)
      return wrong("'" + argument + "' is not an option of paceline run" +
                   did_you_mean(word.name, known_options(app)));
    const std::string name = "--" + option->get_lnames().front();
    const bool takes_value = option->get_items_expected_max() > 0;
    if (!takes_value && word.value) return wrong("option " + word.name + " takes no value");
    if (takes_value && !word.value && at + 1 < arguments.size() && arguments[at + 1] != "--")
      word.value = arguments[++at];
    if (takes_value && word.value.value_or("").empty())
      return wrong("option " + argument + " needs a value");
    parts.options.push_back(takes_value ? name + "=" + *word.value : name);
  }
  if (at < arguments.size() && arguments[at] == "--") ++at;
  parts.program.assign(arguments.begin() + static_cast<std::ptrdiff_t>(at), arguments.end());
  return parts;
}

}  // namespace

Result<JobSpec> parse_run(std::span<const std::string> arguments) {
  JobSpec job;
  CLI::App app;
  add_options(app, job);
  PACELINE_TRY_ASSIGN(Split parts, split(app, arguments));
  try {
    app.parse(std::vector<std::string>(parts.options.rbegin(), parts.options.rend()));
  } catch (const CLI::ParseError& error) {
    return wrong(error.what());
  }
  if (parts.program.empty() || parts.program.front().empty())
    return wrong("no program to run; write it after the options: paceline run -n 2 -- ./train");
  job.command = std::move(parts.program);
  return job;
}

bool asks_for_help(std::span<const std::string> arguments) {
  JobSpec unused;
  CLI::App app;
  add_options(app, unused);
  const Result<Split> parts = split(app, arguments);
  return parts.ok() &&
         std::find(parts->options.begin(), parts->options.end(), "--help") != parts->options.end();
}

std::string run_help() {
  JobSpec unused;
  CLI::App app;
  add_options(app, unused);
  CLI::Formatter formatter;
  formatter.column_width(24);
  std::string options = formatter.make_groups(&app, CLI::AppFormatMode::Normal);
  for (std::size_t at = 0; (at = options.find("\n\n\n", at)) != std::string::npos;)
    options.erase(at, 1);  // CLI11 sets groups two lines apart
  return std::string(kUsage) + options + std::string(kExamples);
}

}  // namespace paceline::launcher
