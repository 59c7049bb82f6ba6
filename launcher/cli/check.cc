// paceline check: which host, link or setting is bad, before a job finds out.
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include <unistd.h>

#include "comm/base/input_file.h"
#include "comm/base/try.h"
#include "launcher/cli/command.h"
#include "launcher/connectivity/check_record.h"
#include "launcher/system/complain.h"
#include "launcher/system/new_file.h"
#include "launcher/system/process.h"
#include "launcher/system/system.h"
#include "launcher/tools/lab/lab_job.h"
#include "launcher/tools/measure/check/check_json.h"
#include "launcher/tools/measure/check/check_options.h"
#include "launcher/tools/measure/check/check_report.h"
#include "launcher/tools/measure/check/check_run.h"
#include "launcher/tools/measure/check/host_rules.h"
#include "launcher/tools/measure/check/verdict.h"

namespace paceline::launcher {
namespace {

constexpr int kExitNotOk = 1;
constexpr const char* kStandardOutput = "-";

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

// One line that changes, for who looks on; nothing in a file.
void show_progress(const std::string& what, int done, int all) {
  if (::isatty(STDERR_FILENO) == 0) return;
  std::fprintf(stderr, "\r%-60s\r",
               (what + ", " + std::to_string(done + 1) + " of " + std::to_string(all)).c_str());
}

void end_progress() {
  if (::isatty(STDERR_FILENO) != 0) std::fprintf(stderr, "\r%-60s\r", "");
}

Result<probe::Measurements> read_measurements(const std::string& option, const std::string& file) {
  constexpr std::size_t kMostBytes = std::size_t{256} << 20;
  const std::string context = option + " " + file;
  const Result<std::string> text = read_input(file, kMostBytes);
  if (!text.ok()) return text.status().with_context(context);
  Result<probe::Measurements> measured = parse_check_json(*text);
  if (!measured.ok()) return measured.status().with_context(context);
  return measured;
}

Result<probe::Measurements> measure(const CheckRequest& request) {
  PACELINE_TRY_ASSIGN(const std::vector<std::string> hosts, hosts_to_check(request.job));
  PACELINE_TRY_ASSIGN(const std::string folder, folder_of_programs());
  PACELINE_TRY(adopt_orphans());
  Result<probe::Measurements> measured = measure_hosts(request, hosts, folder, show_progress);
  end_progress();
  return measured;
}

Status write_json(const std::string& file, const std::string& document) {
  Result<std::unique_ptr<NewFile>> made = NewFile::make(file);
  const Status kept = made.ok() ? (*made)->keep(document) : made.status();
  return kept.with_context("--json");
}

Result<int> check(const CheckRequest& request) {
  std::optional<probe::Measurements> baseline;
  if (!request.baseline_file.empty()) {
    PACELINE_TRY_ASSIGN(baseline, read_measurements("--baseline", request.baseline_file));
  }
  PACELINE_TRY_ASSIGN(const probe::Measurements measured,
                      request.from_file.empty() ? measure(request)
                                                : read_measurements("--from", request.from_file));
  const Verdict verdict = judge(measured, baseline ? &*baseline : nullptr);
  const std::vector<Finding> findings = find_on_hosts(measured);
  const bool json_alone = request.json_file == kStandardOutput;
  const std::string document =
      request.json_file.empty() ? "" : check_json(measured, findings, verdict);
  if (json_alone) {
    print(document);
  } else {
    print(findings_text(findings, measured.hosts.size(), request.verbose) + links_text(measured) +
          reductions_text(measured) + verdict_text(measured, verdict));
    if (!document.empty()) PACELINE_TRY(write_json(request.json_file, document));
  }
  return verdict.state == CheckState::kOk ? 0 : kExitNotOk;
}

}  // namespace

int check_command(std::span<const std::string> arguments) {
  if (asks_for_help(arguments)) {
    print(check_help());
    return 0;
  }
  Result<CheckRequest> request = parse_check(arguments);
  if (!request.ok()) return complain(request.status().text() + "\nTry: paceline check --help");
  const Result<std::optional<int>> in_lab = run_in_lab(request->job, {"check"}, arguments);
  if (!in_lab.ok()) return complain(in_lab.status().text());
  if (*in_lab) return **in_lab;
  const Result<int> code = check(*request);
  return code.ok() ? *code : complain(code.status().text());
}

}  // namespace paceline::launcher
