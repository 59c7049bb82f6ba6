#include "launcher/head/job_hosts.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <string>

#include <unistd.h>

#include "comm/base/cpus.h"
#include "comm/base/input_file.h"
#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/engines/engine.h"
#include "launcher/engines/slurm_nodes.h"
#include "launcher/options/hostfile.h"
#include "launcher/system/host.h"
#include "topology/read/plan_json.h"

namespace paceline::launcher {
namespace {

constexpr const char* kSlurm = "slurm";
constexpr std::size_t kMaxHostfileBytes = std::size_t{1} << 20;

Status unreadable(const std::string& file, const std::string& why) {
  return Status(Code::kInvalidArgument, Scope::kOperation,
                "cannot read the hostfile '" + file + "': " + why);
}

const char* own_environment(const char* name) { return ::getenv(name); }

// For -n auto: the CPUs that this process may use.
void count_own_cpus(std::vector<HostSlots>& hosts) {
  for (HostSlots& host : hosts)
    if (!host.slots && host.name == host_name()) host.slots = allowed_cpus();
}

bool is_this_host(std::string_view name, OwnAddresses& addresses) {
  std::array<char, 256> whole{};
  if (::gethostname(whole.data(), whole.size() - 1) != 0) whole[0] = '\0';
  // RFC 4343: names of hosts do not depend on case.
  const auto is = [name](std::string_view own) {
    return std::ranges::equal(name, own, {}, ::tolower, ::tolower);
  };
  return is(host_name()) || is("localhost") || is("localhost.localdomain") || is(whole.data()) ||
         addresses.has(name);
}

// This host gets the name that it has itself: from then on that name tells it from others.
Status use_own_name(const JobSpec& job, OwnAddresses& addresses, std::vector<HostSlots>& hosts) {
  for (HostSlots& host : hosts) {
    if (is_this_host(host.name, addresses)) {
      host.name = host_name();
    } else if (job.engine == kLocalEngine) {
      return Status(
          Code::kInvalidArgument, Scope::kOperation,
          "--engine local starts ranks on this host only, but " + host.name + " is another host");
    }
  }
  return Status();
}

}  // namespace

std::string engine_of(const JobSpec& job) {
  if (!job.engine.empty() || !job.launch_agent.empty()) return job.engine;
  return ::getenv("SLURM_JOB_NODELIST") != nullptr ? kSlurm : "ssh";
}

bool sends_paths(const JobSpec& job) { return !job.host_paths && engine_of(job) != kSlurm; }

bool is_this_host(std::string_view name) {
  OwnAddresses addresses;
  return is_this_host(name, addresses);
}

namespace {

Result<NamedHosts> all_named_hosts(const JobSpec& job) {
  if (!job.host_file.empty()) {
    const Result<std::string> text = read_input(job.host_file, kMaxHostfileBytes);
    if (!text.ok()) return unreadable(job.host_file, text.status().text());
    PACELINE_TRY_ASSIGN(std::vector<HostSlots> hosts, parse_hostfile(*text, job.host_file));
    return NamedHosts{.hosts = std::move(hosts), .source = HostSource::kFile};
  }
  if (!job.hosts.empty()) return NamedHosts{.hosts = job.hosts, .source = HostSource::kHostOption};
  if (job.engine != kLocalEngine) PACELINE_TRY(check_het_groups(own_environment));
  if (engine_of(job) != kSlurm) return NamedHosts{};
  PACELINE_TRY_ASSIGN(std::vector<HostSlots> hosts, slurm_hosts(own_environment));
  const bool has_tasks = has_slurm_tasks(own_environment);
  return NamedHosts{.hosts = std::move(hosts),
                    .source = has_tasks ? HostSource::kTasks : HostSource::kCpus};
}

}  // namespace

Result<NamedHosts> named_hosts(const JobSpec& job) {
  PACELINE_TRY_ASSIGN(NamedHosts named, all_named_hosts(job));
  PACELINE_TRY_ASSIGN(named.hosts, without_excluded(std::move(named.hosts), job.excluded_hosts));
  return named;
}

Result<SharedHosts> hosts_of(JobSpec& job) {
  PACELINE_TRY_ASSIGN(NamedHosts named, named_hosts(job));
  std::vector<HostSlots>& hosts = named.hosts;
  if (hosts.empty()) hosts.push_back({.name = host_name(), .slots = std::nullopt});
  OwnAddresses addresses;
  PACELINE_TRY(use_own_name(job, addresses, hosts));
  if (job.programs.front().is_auto) count_own_cpus(hosts);
  for (ProgramSpec& program : job.programs) {
    PACELINE_TRY(use_own_name(job, addresses, program.hosts));
    if (program.is_auto) count_own_cpus(program.hosts);
  }
  PACELINE_TRY(count_ranks(job, hosts, named.source));
  PACELINE_TRY_ASSIGN(std::vector<HostShare> shares, share_job(job, hosts));
  return SharedHosts{.shares = std::move(shares), .candidates = std::move(hosts)};
}

namespace {

// The most ranks of a host in `shares` whose slots nobody has stated. If such hosts have no ranks:
// of any host.
int most_unstated(const std::vector<HostShare>& shares, const std::vector<HostSlots>& hosts) {
  int most = 0, most_of_all = 0;
  for (const HostShare& share : shares) {
    const auto host = std::ranges::find(hosts, share.host, &HostSlots::name);
    most_of_all = std::max(most_of_all, share.ranks);
    if (host != hosts.end() && !host->slots) most = std::max(most, share.ranks);
  }
  return most > 0 ? most : most_of_all;
}

// The rest of `hosts`, all with slots.
Result<std::vector<HostSlots>> rest_of(std::vector<HostSlots> hosts,
                                       const std::vector<HostShare>& first,
                                       const std::function<bool(const std::string&)>& out) {
  const int most = most_unstated(first, hosts);
  std::erase_if(hosts, [&out](const HostSlots& host) { return out(host.name); });
  for (HostSlots& host : hosts) host.slots = host.slots.value_or(most);
  if (!hosts.empty()) return hosts;
  return Status(Code::kInvalidArgument, Scope::kOperation, "no host is left");
}

}  // namespace

bool is_candidate(const JobSpec& job, const SharedHosts& hosts, const std::string& host) {
  const auto has = [&host](const std::vector<HostSlots>& list) {
    return std::ranges::count(list, host, &HostSlots::name) > 0;
  };
  return has(hosts.candidates) ||
         std::ranges::any_of(job.programs, [&](const ProgramSpec& one) { return has(one.hosts); });
}

Result<std::vector<HostShare>> share_without(JobSpec job, const SharedHosts& first,
                                             const std::function<bool(const std::string&)>& out) {
  for (std::size_t i = 0; i < job.programs.size(); ++i) {
    std::vector<HostSlots>& hosts = job.programs[i].hosts;
    if (hosts.empty()) continue;
    Result<std::vector<HostSlots>> rest = rest_of(std::move(hosts), first.shares, out);
    if (!rest.ok()) return rest.status().with_context("program " + std::to_string(i + 1));
    hosts = *std::move(rest);
  }
  PACELINE_TRY_ASSIGN(const auto hosts, rest_of(first.candidates, first.shares, out));
  return share_job(job, hosts);
}

Result<std::vector<HostShare>> hosts_of_plan(JobSpec& job, const std::string& plan_text) {
  const std::string& file = job.placement.plan_file;
  PACELINE_TRY_ASSIGN(const auto planned,
                      topology::read_plan_hosts({.name = file, .text = plan_text}));
  PACELINE_TRY_ASSIGN(NamedHosts of_job, named_hosts(job));
  std::vector<HostSlots>& named = of_job.hosts;
  OwnAddresses addresses;
  PACELINE_TRY(use_own_name(job, addresses, named));
  std::vector<HostSlots> hosts;
  for (const topology::PlanHost& host : planned)
    hosts.push_back({.name = host.name, .slots = host.ranks});
  PACELINE_TRY(use_own_name(job, addresses, hosts));
  PACELINE_TRY(count_ranks(job, hosts, HostSource::kFile));
  std::vector<HostShare> shares;
  for (const HostSlots& host : hosts) {
    if (!named.empty() && std::ranges::find(named, host.name, &HostSlots::name) == named.end())
      return Status(Code::kInvalidArgument, Scope::kOperation,
                    file + ": it places ranks on host " + printable(host.name) +
                        ", which is not a host of this job");
    shares.push_back({.host = host.name, .ranks = *host.slots, .slots = *host.slots});
  }
  return shares;
}

}  // namespace paceline::launcher
