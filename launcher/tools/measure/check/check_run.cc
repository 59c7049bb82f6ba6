#include "launcher/tools/measure/check/check_run.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "comm/base/cgroup.h"
#include "comm/base/clock.h"
#include "comm/base/read_file.h"
#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/head/job_hosts.h"
#include "launcher/job/host_faults.h"
#include "launcher/system/host.h"
#include "launcher/tools/measure/captured_job.h"
#include "launcher/tools/measure/captured_run.h"
#include "launcher/tools/measure/scratch_folder.h"

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

// Empty if the run has ended before it wrote the file.
std::vector<HostFault> read_faults(const std::string& path) {
  const auto faults = parse_host_faults(read_file(path));
  return faults.ok() ? *faults : std::vector<HostFault>();
}

// `has_names`: else the engine knows the hosts, or it is this one.
JobSpec job_on(const std::vector<std::string>& hosts, bool has_names, JobSpec job) {
  if (has_names) {
    job.hosts.clear();
    for (const std::string& host : hosts) job.hosts.push_back({.name = host, .slots = {}});
    job.host_file.clear();
    job.excluded_hosts.clear();
  }
  if (hosts.size() > 1) job.ranks_per_host = 1;
  job.programs.front().ranks = static_cast<int>(hosts.size());
  return job;
}

struct Attempt {
  probe::Measurements measured;
  std::vector<HostFault> faults;  // hosts without which it may succeed
  Status failed;
};

Result<Attempt> measure_once(const CheckRequest& request, const std::vector<std::string>& hosts,
                             bool has_names, const std::string& folder,
                             const OnProgress& progress) {
  PACELINE_TRY_ASSIGN(const ScratchFolder scratch,
                      ScratchFolder::make(temporary_folder() + "/paceline-check-XXXXXX"));
  const std::string faults = scratch.path() + "/faults";
  JobSpec job = job_on(hosts, has_names, request.job);
  job.programs.front().command = {folder + "/paceline-probe"};
  job.host_faults_file = faults;
  // Ranks notice a silent host within 30 s, and that is a result. So the launcher waits longer.
  job.max_silence = std::chrono::seconds(90);
  const CapturedProgram program = captured_job(std::move(job), probe::to_words(request.orders));
  Attempt attempt{.measured = {.hosts = hosts}};
  const auto take = [&](std::size_t, const std::string& line) {
    const auto words = split_words(line, ' ');
    if (const auto step = parse_progress(words)) {
      const std::size_t what = line.find(words[3]);
      progress(line.substr(what), step->first, step->second);
    } else {
      probe::take_line(line, attempt.measured);
    }
    return CapturedAnswer{.silence = kSilence};
  };
  PACELINE_TRY_ASSIGN(const auto ends, run_captured(std::span(&program, 1), kSilence, take));
  attempt.faults = read_faults(faults);
  const std::optional<int> status = ends.front().wait_status;
  if (!status)
    attempt.failed = Status(Code::kTimeout, Scope::kOperation,
                            "the measuring ranks printed nothing for 100 s, and were ended");
  else if (*status != 0)
    attempt.failed = Status(Code::kUnavailable, Scope::kOperation,
                            "the hosts could not be checked, for the reason above");
  return attempt;
}

// Several hosts, all but this one, fail for one reason at the start: an option, or this host's own
// network, is the likely cause.
bool are_all_misled(const std::vector<std::string>& hosts, const std::vector<HostFault>& faults) {
  const auto others =
      std::ranges::count_if(hosts, [](const std::string& host) { return !is_this_host(host); });
  return others > 1 && std::cmp_equal(faults.size(), others) &&
         std::ranges::all_of(faults, [&faults](const HostFault& one) {
           return one.why == faults.front().why && !is_this_host(one.host);
         });
}

}  // namespace

Result<std::vector<std::string>> hosts_to_check(const JobSpec& job) {
  PACELINE_TRY(check_hostfile(job.host_file));
  PACELINE_TRY_ASSIGN(const NamedHosts named, named_hosts(job));
  std::vector<std::string> hosts;
  for (const HostSlots& host : named.hosts) {
    const std::string name = is_this_host(host.name) ? host_name() : host.name;
    if (std::find(hosts.begin(), hosts.end(), name) == hosts.end()) hosts.push_back(name);
  }
  if (hosts.empty()) hosts.push_back(host_name());
  return hosts;
}

Result<probe::Measurements> measure_hosts(const CheckRequest& request,
                                          const std::vector<std::string>& hosts,
                                          const std::string& folder, const OnProgress& progress) {
  std::vector<std::string> fit = hosts;
  std::vector<probe::UnfitHost> unfit;
  const bool named = !request.job.hosts.empty() || !request.job.host_file.empty() ||
                     !request.job.excluded_hosts.empty();
  // Each round but the last one leaves out a host.
  while (!fit.empty()) {
    PACELINE_TRY_ASSIGN(Attempt attempt,
                        measure_once(request, fit, named || !unfit.empty(), folder, progress));
    std::vector<std::string> left_out;
    for (const HostFault& fault : attempt.faults) {
      if (std::erase(fit, fault.host) == 0) continue;
      left_out.push_back(fault.host);
      unfit.push_back({.name = fault.host, .why = printable(fault.why), .or_host = fault.or_host});
    }
    const bool has_begun = !attempt.measured.facts.empty();
    if (attempt.failed.ok() || (has_begun && !left_out.empty())) {
      attempt.measured.unfit = std::move(unfit);
      return std::move(attempt.measured);
    }
    if (left_out.empty() || are_all_misled(hosts, attempt.faults)) return attempt.failed;
    if (!fit.empty())
      std::fprintf(stderr, "paceline: checking %zu hosts without %s\n", fit.size(),
                   list_text(left_out).c_str());
  }
  return probe::Measurements{.unfit = std::move(unfit)};
}

}  // namespace paceline::launcher
