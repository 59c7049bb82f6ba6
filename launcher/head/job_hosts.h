// On which hosts a job runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <paceline/status.h>

#include "launcher/options/host_plan.h"
#include "launcher/options/job_spec.h"

namespace paceline::launcher {

/// Of -H, of the hostfile, which is read, or of an allocation of Slurm's; none where nobody named
/// any.
Result<std::vector<HostSlots>> named_hosts(const JobSpec& job);

/// Reads the hostfile, if there is one. This host is called host_name(), whichever of its names was
/// given; without hosts it has all ranks.
Result<std::vector<HostShare>> hosts_of(const JobSpec& job);
/// Those that have ranks in the text of its plan file, which are among those it names, if it does.
Result<std::vector<HostShare>> hosts_of_plan(const JobSpec& job, const std::string& plan_text);

/// What is to start agents on other hosts: what was asked for, else what the surroundings offer.
/// Empty where it is a program of the user's.
std::string engine_of(const JobSpec& job);

/// By any of its names.
bool is_this_host(std::string_view name);

}  // namespace paceline::launcher
