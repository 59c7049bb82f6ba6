#include "launcher/options/rank_count.h"

#include <algorithm>
#include <string>
#include <vector>

#include "comm/base/try.h"
#include "launcher/options/host_plan.h"
#include "launcher/options/option_values.h"
#include "launcher/options/run_options.h"
#include "topology/placement/rules/mapping_counts.h"

namespace paceline::launcher {
namespace {

Status not_inferred(const std::string& why) {
  return usage_error("the number of ranks is not stated, and " + why);
}

// Each host once. Slots that say nothing about a number of ranks are left out.
std::vector<HostSlots> countable(std::span<const HostSlots> hosts, const JobSpec& job, bool is_auto,
                                 HostSource source) {
  std::vector<HostSlots> all(hosts.begin(), hosts.end());
  const bool is_one =
      !is_auto && (source == HostSource::kNone || source == HostSource::kHostOption);
  for (HostSlots& host : all) {
    if (source == HostSource::kCpus && !is_auto) host.slots.reset();
    if (!host.slots && is_one && job.ranks_per_host == 0) host.slots = 1;
  }
  return merged_hosts(all);
}

Result<int> count_on(const HostSlots& host, const JobSpec& job, HostSource source) {
  const int most = job.ranks_per_host;
  if (job.placement.rules.ranks_per_unit > 0) return job.placement.rules.ranks_per_unit;
  if (host.slots) return most > 0 ? std::min(most, *host.slots) : *host.slots;
  if (most > 0) return most;
  if (source == HostSource::kCpus)
    return not_inferred(
        "the Slurm allocation has no number of tasks; use -n N or -N K, or allocate with --ntasks");
  return not_inferred("host " + host.name +
                      " has no stated slots; use -n N or -N K, or state the slots of each host");
}

// The ranks of a program that has these hosts for itself.
Result<int> count_of_one(const JobSpec& job, bool is_auto, std::span<const HostSlots> hosts,
                         HostSource source) {
  const topology::MappingRules& mapping = job.placement.rules;
  if (mapping.ranks_per_unit > 0 && topology::counts_need_machines(mapping))
    return not_inferred("--map-by ppr counts units that only the machines tell; use -n N");
  std::int64_t sum = 0;
  for (const HostSlots& host : countable(hosts, job, is_auto, source)) {
    PACELINE_TRY_ASSIGN(const int count, count_on(host, job, source));
    sum += count;
  }
  if (sum <= kMaxRanks) return static_cast<int>(sum);
  return usage_error("the number of ranks is not stated, and the hosts have " +
                     std::to_string(sum) + " slots, more than the max of " +
                     std::to_string(kMaxRanks) + " ranks; use -n N");
}

Status count_ranks_of(JobSpec& job, std::size_t program, std::span<const HostSlots> hosts,
                      HostSource source) {
  ProgramSpec& its = job.programs[program];
  const auto shared =
      std::ranges::count_if(job.programs, [](const ProgramSpec& one) { return one.hosts.empty(); });
  if (!its.hosts.empty()) {
    hosts = its.hosts;
    source = HostSource::kHostOption;
  } else if (shared > 1) {
    const bool is_plain =
        source == HostSource::kNone && job.ranks_per_host == 0 && !job.placement.rules.is_mapping();
    if (!is_plain || its.is_auto)
      return usage_error("program " + std::to_string(program + 1) +
                         " has no number of ranks; state -n for each of several programs with the "
                         "same hosts");
    its.ranks = 1;
    return Status();
  }
  PACELINE_TRY_ASSIGN(its.ranks, count_of_one(job, its.is_auto, hosts, source));
  return Status();
}

}  // namespace

Status count_ranks(JobSpec& job, std::span<const HostSlots> hosts, HostSource source) {
  for (std::size_t i = 0; i < job.programs.size(); ++i)
    if (job.programs[i].ranks == 0) PACELINE_TRY(count_ranks_of(job, i, hosts, source));
  return check_named_ranks(job);
}

}  // namespace paceline::launcher
