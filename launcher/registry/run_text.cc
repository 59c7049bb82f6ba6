#include "launcher/registry/run_text.h"

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <ctime>

#include "comm/base/text.h"
#include "launcher/system/text_table.h"

namespace paceline::launcher {
namespace {

constexpr std::size_t kIdLetters = 8;
constexpr std::size_t kMostCommand = 60;

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, seconds < 100 ? "%.1f s" : "%.0f s", seconds);
  return text;
}

std::string number_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, number < 100 ? "%.3g" : "%.0f", number);
  return text;
}

// "94 %", "~94 %" for an estimate.
std::string efficiency_text(const RunFigures& figures) {
  const std::string percent = std::to_string(std::lround(100 * figures.efficiency)) + " %";
  return figures.is_measured ? percent : "~" + percent;
}

}  // namespace

std::string short_id(const RunEntry& run) { return run.id.substr(0, kIdLetters); }

std::string local_minute(double seconds_since_1970) {
  const auto seconds = static_cast<std::time_t>(seconds_since_1970);
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  char text[32];
  return std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts) > 0 ? text : "";
}

std::string shown_command(const std::string& command, const Ablation& ablated) {
  return ablated.is_any() ? "[--ablate " + ablated.to_text() + "] " + command : command;
}

std::string ablation_words(const RunEntry& run) {
  if (!run.ablated.is_any()) return "";
  const bool is_input = run.ablated.input && !(run.figures && run.figures->repeats_input);
  return "Run " + printable(short_id(run)) + " used --ablate " + run.ablated.to_text() +
         ": its results are wrong on purpose, and its times show a ceiling" +
         (is_input ? ". Its input was not repeated, because no rank asked for it after a step"
                   : "");
}

std::string runs_table(const std::vector<RunEntry>& runs) {
  std::vector<std::vector<std::string>> rows{
      {"RUN", "BEGIN", "TIME", "RANKS", "EXIT", "STEPS", "SAMPLES/S", "EFFICIENCY", "COMMAND"}};
  for (const RunEntry& run : runs) {
    const bool has_steps = run.figures && run.figures->has_steps;
    std::string command = shown_command(printable(run.command), run.ablated);
    if (command.size() > kMostCommand) command = command.substr(0, kMostCommand) + "…";
    rows.push_back(
        {printable(short_id(run)), local_minute(run.begin_s), seconds_text(run.seconds),
         std::to_string(run.ranks), std::to_string(run.exit_code),
         has_steps ? std::to_string(run.figures->steps) : "-",
         has_steps && run.figures->samples_per_s > 0 ? number_text(run.figures->samples_per_s)
                                                     : "-",
         has_steps && run.ranks > 1 && !run.ablated.is_any() ? efficiency_text(*run.figures) : "-",
         command});
  }
  return text_table(rows);
}

std::string runs_json(const std::vector<RunEntry>& runs) {
  std::string text = "[";
  for (const RunEntry& run : runs) text.append(text.size() > 1 ? ",\n" : "\n").append(line_of(run));
  return text + (runs.empty() ? "]\n" : "\n]\n");
}

}  // namespace paceline::launcher
