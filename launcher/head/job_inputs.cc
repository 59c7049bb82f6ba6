#include "launcher/head/job_inputs.h"

#include <cstddef>

#include "comm/base/input_file.h"
#include "comm/base/try.h"
#include "launcher/head/job_agents.h"
#include "launcher/head/pair_check.h"
#include "launcher/head/preflight.h"
#include "launcher/registry/record.h"
#include "launcher/system/host.h"

namespace paceline::launcher {
namespace {

constexpr std::size_t kMaxFaultScriptBytes = std::size_t{1} << 20;

Result<std::vector<FaultSpec>> read_faults(const std::string& file) {
  if (file.empty()) return std::vector<FaultSpec>();
  const Result<std::string> text = read_input(file, kMaxFaultScriptBytes);
  if (!text.ok())
    return Status(Code::kInvalidArgument, Scope::kOperation,
                  "cannot read the faults '" + file + "': " + std::string(text.status().text()));
  return parse_fault_script(*text, file);
}

Result<std::unique_ptr<MembershipFile>> open_membership(
    const JobSpec& job, const std::function<void(const std::string&)>& warn) {
  if (job.membership_file.empty() || job.placement.dry_run)
    return std::unique_ptr<MembershipFile>();
  return MembershipFile::open(job.membership_file,
                              {.command = command_of(job), .ranks = job.ranks()}, warn);
}

}  // namespace

std::string command_of(const JobSpec& job) {
  std::vector<std::string> words;
  for (const ProgramSpec& program : job.programs) {
    if (!words.empty()) words.emplace_back(":");
    words.insert(words.end(), program.command.begin(), program.command.end());
  }
  return command_line(words);
}

Result<JobInputs> inputs_of(JobSpec& job, const std::function<void(const std::string&)>& warn) {
  JobInputs inputs;
  PACELINE_TRY_ASSIGN(inputs.files, read_placement_files(job.placement));
  PACELINE_TRY_ASSIGN(inputs.faults, read_faults(job.faults_file));
  if (job.placement.plan_file.empty()) {
    PACELINE_TRY_ASSIGN(inputs.hosts, hosts_of(job));
  } else {
    PACELINE_TRY_ASSIGN(inputs.hosts.shares, hosts_of_plan(job, inputs.files.plan));
  }
  PACELINE_TRY(check_engine(job));
  const std::vector<HostShare>& shares = inputs.hosts.shares;
  const bool is_here = shares.size() == 1 && shares.front().host == host_name();
  if (is_here && !job.placement.dry_run) PACELINE_TRY(preflight(job, warn));
  PACELINE_TRY_ASSIGN(inputs.net, net_choice_of_environment());
  PACELINE_TRY_ASSIGN(inputs.ports, port_range_of_environment());
  PACELINE_TRY_ASSIGN(inputs.membership, open_membership(job, warn));
  return inputs;
}

}  // namespace paceline::launcher
