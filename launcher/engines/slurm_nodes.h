// The hosts of a Slurm allocation, from what Slurm says in the environment. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <paceline/status.h>

#include "launcher/options/job_spec.h"

namespace paceline::launcher {

/// "4(x2),3" (SLURM_TASKS_PER_NODE, SLURM_JOB_CPUS_PER_NODE) as numbers, at most kMaxRanks.
Result<std::vector<int>> expand_counts(std::string_view text);

/// The allocation's hosts with their slots: tasks where it was asked for some, else CPUs. `lookup`
/// gives variables of the environment, null where they are not set. Code::kUnavailable outside of
/// an allocation.
Result<std::vector<HostSlots>> slurm_hosts(const char* (*lookup)(const char*));

}  // namespace paceline::launcher
