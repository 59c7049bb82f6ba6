// paceline report: a page about a recorded run, or about the differences of two.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/cli/command.h"
#include "launcher/options/nearest.h"
#include "launcher/options/option_values.h"
#include "launcher/registry/run_log.h"
#include "launcher/registry/run_text.h"
#include "launcher/system/complain.h"
#include "launcher/system/new_file.h"
#include "launcher/system/system.h"
#include "launcher/tools/report/report_page.h"
#include "launcher/tools/report/run_comparison.h"
#include "launcher/tools/report/run_findings.h"

namespace paceline::launcher {
namespace {

constexpr const char* kHelp =
    "usage: paceline report RUN [RUN2] [--output FILE]\n"
    "Writes an HTML page about one of your runs that have ended, and prints its findings. These\n"
    "are the three things that cost the most time, each with what to do about it. The page also\n"
    "has the step time and its parts over time, the operations, and the evidence about each rank.\n"
    "It is one file, without scripts, and needs no network.\n"
    "\n"
    "With two runs it prints their differences, and the page has both side by side.\n"
    "\n"
    "  RUN            the id or its first digits, or last; `paceline runs` shows ids\n"
    "  --output FILE  the file (default: report-RUN.html or report-RUN-RUN2.html in this folder;\n"
    "                 a file of this name is replaced). - is standard output, without findings\n"
    "\n"
    "A difference of two runs is named only if it is beyond noise, and at least 1 %. The noise is\n"
    "that between the blocks of steps in the run record. Welch's test judges all quantities\n"
    "together. If the noise stays the same, about one of 1,000 equal pairs is said to differ, and\n"
    "more if the machine drifts slowly. If the halves of a run differ more than the two runs, the\n"
    "report says that the runs cannot tell. A run needs 10 s, and at least 9 steps, that are\n"
    "marked (paceline/steps.h).\n"
    "The test cannot see what changes between runs, such as other load. So run both several\n"
    "times, in turn.\n"
    "\n"
    "Exit code: 0, also if runs differ. 125: no such run, a run without figures, or the file\n"
    "cannot be written.\n"
    "\n"
    "Examples:\n"
    "  paceline report last\n"
    "  paceline report 7da5 23c2 --output changes.html";

struct Request {
  std::vector<std::string> runs;
  std::string file;  // empty: named after the runs
};

Result<Request> parse(std::span<const std::string> arguments) {
  constexpr std::string_view kOutput = "--output";
  Request request;
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    const std::string& word = arguments[at];
    if (word == kOutput && at + 1 < arguments.size() && !arguments[at + 1].empty()) {
      request.file = arguments[++at];
    } else if (word.starts_with("--output=") && word.size() > kOutput.size() + 1) {
      request.file = word.substr(kOutput.size() + 1);
    } else if (word == kOutput || word == "--output=") {
      return usage_error("option --output needs a file, or - for standard output");
    } else if (word.starts_with("-")) {
      return usage_error("'report' has no option '" + word + "'" +
                         did_you_mean(word, std::vector<std::string>{"--output", "--help"}));
    } else {
      request.runs.push_back(word);
    }
  }
  if (request.runs.empty() || request.runs.size() > 2)
    return usage_error("'report' needs one run or two, not " + std::to_string(request.runs.size()) +
                       "; `paceline runs` shows ids");
  return request;
}

// The baseline of a run is the latest one before it, as when it ended.
Result<ReportedRun> reported(const std::vector<RunEntry>& runs, const std::string& word) {
  PACELINE_TRY_ASSIGN(RunEntry run, find_run(runs, word));
  if (!run.figures)
    return Status(Code::kInvalidArgument, Scope::kOperation,
                  "run " + printable(run.id) +
                      " has no figures, since none of its ranks used the library; "
                      "programs that join by it and mark steps have them (paceline/steps.h)");
  const auto place = std::ranges::find(runs, run.id, &RunEntry::id);
  ReportedRun made{.run = std::move(run), .baseline = {}};
  if (made.run.figures->is_measured)
    made.baseline =
        baseline_of({runs.begin(), place}, made.run.command, made.run.directory, made.run.hosts);
  return made;
}

bool is_digit_or_letter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::string file_named_after(const std::vector<ReportedRun>& runs) {
  std::string name = "report";
  for (const ReportedRun& one : runs) {
    name += '-';
    for (const char letter : short_id(one.run)) name += is_digit_or_letter(letter) ? letter : '_';
  }
  return name + ".html";
}

std::string lines_of_ablation(const RunEntry& run) {
  const std::string words = ablation_words(run);
  return words.empty() ? "" : words + ".\n";
}

std::string lines_of_findings(const ReportedRun& one) {
  std::string text = lines_of_ablation(one.run);
  for (const RunFinding& finding : findings_of(one.run, one.baseline)) {
    text += printable(finding.what) + ".\n";
    if (!finding.advice.empty()) text += "  " + finding.advice + "\n";
  }
  return text;
}

std::string lines_of_differences(const std::vector<ReportedRun>& runs,
                                 const RunComparison& comparison) {
  std::string text;
  for (const ComparedQuantity& one : comparison.quantities)
    if (is_told(one)) text += difference_words(one) + ".\n";
  if (text.empty()) text = printable(no_difference_words(comparison)) + ".\n";
  const std::string others = other_facts_words(comparison);
  if (!others.empty()) text += others + "\n";
  return lines_of_ablation(runs[0].run) + lines_of_ablation(runs[1].run) + text;
}

Status report(const Request& request) {
  const auto folder = RunLog::user_folder([](const char* name) { return std::getenv(name); });
  if (!folder) return usage_error("no run record: set XDG_STATE_HOME or HOME to an absolute path");
  const std::vector<RunEntry> recorded = RunLog(*folder).read();
  std::vector<ReportedRun> runs;
  for (const std::string& word : request.runs) {
    PACELINE_TRY_ASSIGN(ReportedRun one, reported(recorded, word));
    runs.push_back(std::move(one));
  }
  std::optional<RunComparison> comparison;
  if (runs.size() == 2) comparison = compare_runs(runs[0].run, runs[1].run);
  const std::string page =
      comparison ? report_page(runs[0], runs[1], *comparison) : report_page(runs[0]);
  if (request.file == "-") return print_out(page);
  const std::string path = request.file.empty() ? file_named_after(runs) : request.file;
  PACELINE_TRY_ASSIGN(const auto file, NewFile::make(path));
  PACELINE_TRY(file->keep(page));
  return print_out(
      (comparison ? lines_of_differences(runs, *comparison) : lines_of_findings(runs[0])) +
      "The page is " + printable(path) + "\n");
}

}  // namespace

int report_command(std::span<const std::string> arguments) {
  if (asks_for_help(arguments)) {
    std::puts(kHelp);
    return 0;
  }
  const Result<Request> request = parse(arguments);
  if (!request.ok()) return complain(request.status().text() + "\nTry: paceline report --help");
  const Status done = report(*request);
  return done.ok() ? 0 : complain(done.text());
}

}  // namespace paceline::launcher
