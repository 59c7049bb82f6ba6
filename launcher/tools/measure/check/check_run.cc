#include "launcher/tools/measure/check/check_run.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "comm/base/cgroup.h"
#include "comm/base/clock.h"
#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/head/job_hosts.h"
#include "launcher/system/host.h"
#include "launcher/tools/measure/captured_run.h"

namespace paceline::launcher {
namespace {

// Rank 0 says something at every step, and each step has deadlines of its own within this.
constexpr Duration kSilence = std::chrono::seconds(100);

// It is read twice, here and by the run.
Status check_hostfile(const std::string& file) {
  std::error_code unreadable;
  if (file.empty() || std::filesystem::is_regular_file(file, unreadable)) return Status();
  return Status(Code::kInvalidArgument, Scope::kOperation,
                std::string("cannot read the hostfile '")
                    .append(file)
                    .append("': ")
                    .append(unreadable ? unreadable.message() : "not a regular file"));
}

std::optional<std::pair<int, int>> parse_progress(const std::vector<std::string_view>& words) {
  if (words.size() < 4 || words[0] != "progress") return std::nullopt;
  const auto done = parse_number<int>(words[1]), all = parse_number<int>(words[2]);
  if (!done || !all) return std::nullopt;
  return std::pair(*done, *all);
}

CapturedProgram program_of(const CheckRequest& request, std::size_t hosts,
                           const std::string& folder) {
  CapturedProgram program{.words = {folder + "/paceline", "run", "-n", std::to_string(hosts)},
                          .environment = {},
                          .shows_errors = true};
  const auto add = [&program](const std::vector<std::string>& words) {
    program.words.insert(program.words.end(), words.begin(), words.end());
  };
  add(request.host_words);
  if (hosts > 1) add({"-N", "1"});
  // Ranks notice a silent host within 30 s, and that is a result. So the launcher waits longer.
  add({"--max-silence", "90"});
  add({"--no-tag-output", "--stdin", "none", "--", folder + "/paceline-probe"});
  add(probe::to_words(request.orders));
  return program;
}

}  // namespace

Result<std::vector<std::string>> hosts_to_check(const JobSpec& job) {
  PACELINE_TRY(check_hostfile(job.host_file));
  PACELINE_TRY_ASSIGN(const std::vector<HostSlots> named, named_hosts(job));
  std::vector<std::string> hosts;
  for (const HostSlots& host : named) {
    const std::string name = is_this_host(host.name) ? host_name() : host.name;
    if (std::find(hosts.begin(), hosts.end(), name) == hosts.end()) hosts.push_back(name);
  }
  if (hosts.empty()) hosts.push_back(host_name());
  return hosts;
}

Result<probe::Measurements> measure_hosts(const CheckRequest& request,
                                          const std::vector<std::string>& hosts,
                                          const std::string& folder, const OnProgress& progress) {
  const CapturedProgram program = program_of(request, hosts.size(), folder);
  probe::Measurements measured{.hosts = hosts};
  const auto take = [&](std::size_t, const std::string& line) {
    const auto words = split_words(line, ' ');
    if (const auto step = parse_progress(words)) {
      const std::size_t what = line.find(words[3]);
      progress(line.substr(what), step->first, step->second);
    } else {
      probe::take_line(line, measured);
    }
    return CapturedAnswer{.silence = kSilence};
  };
  PACELINE_TRY_ASSIGN(const auto ends, run_captured(std::span(&program, 1), kSilence, take));
  const std::optional<int> status = ends.front().wait_status;
  if (!status)
    return Status(Code::kTimeout, Scope::kOperation,
                  "the measuring ranks printed nothing for 100 s, and were ended");
  if (*status != 0)
    return Status(Code::kUnavailable, Scope::kOperation,
                  "the hosts could not be checked, for the reason above");
  return measured;
}

}  // namespace paceline::launcher
