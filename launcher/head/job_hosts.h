// On which hosts a job runs.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <paceline/status.h>

#include "launcher/options/host_plan.h"
#include "launcher/options/job_spec.h"
#include "launcher/options/rank_count.h"

namespace paceline::launcher {

/// Empty if nobody named any.
struct NamedHosts {
  std::vector<HostSlots> hosts;
  HostSource source = HostSource::kNone;
};

/// Of -H, of the hostfile, which is read, or of an allocation of Slurm's.
Result<NamedHosts> named_hosts(const JobSpec& job);

struct SharedHosts {
  std::vector<HostShare> shares;
  /// Hosts on which the ranks of programs without hosts of their own may run. Those have ranks that
  /// are first in the list; the others are spare.
  std::vector<HostSlots> candidates;
};

/// Reads the hostfile, if there is one, and completes the numbers of ranks: count_ranks(). This
/// host is called host_name(), whichever of its names was given; without hosts it has all ranks.
Result<SharedHosts> hosts_of(JobSpec& job);
/// Whether some program may have ranks there, at first or when ranks start again.
bool is_candidate(const JobSpec& job, const SharedHosts& hosts, const std::string& host);
/// Shares out the ranks again without the hosts that are `out`. A host without stated slots gets at
/// most as many ranks as such a host has in `first`, or any host if no such host has ranks there.
Result<std::vector<HostShare>> share_without(JobSpec job, const SharedHosts& first,
                                             const std::function<bool(const std::string&)>& out);
/// Those that have ranks in the text of its plan file, which are among those it names, if it does.
/// A single program without -n has the ranks of the plan.
Result<std::vector<HostShare>> hosts_of_plan(JobSpec& job, const std::string& plan_text);

/// What is to start agents on other hosts: what was asked for, else what the surroundings offer.
/// Empty where it is a program of the user's.
std::string engine_of(const JobSpec& job);
/// Whether ranks on other hosts get the PATH and the like of this process. srun exports them
/// itself.
bool sends_paths(const JobSpec& job);

/// By any of its names, in capitals or not, or by an IP address that it has.
bool is_this_host(std::string_view name);

}  // namespace paceline::launcher
