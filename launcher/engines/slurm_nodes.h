// The hosts of a Slurm allocation, from what Slurm says in the environment. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <paceline/status.h>

#include "launcher/options/job_spec.h"

namespace paceline::launcher {

using EnvironmentLookup = const char* (*)(const char* name);

/// "4(x2),3" (SLURM_TASKS_PER_NODE, SLURM_JOB_CPUS_PER_NODE) as numbers, at most kMaxRanks.
Result<std::vector<int>> expand_counts(std::string_view text);

/// The allocation's hosts with their slots: tasks where it was asked for some, else CPUs. `lookup`
/// gives variables of the environment, null where they are not set. Code::kUnavailable outside of
/// an allocation.
Result<std::vector<HostSlots>> slurm_hosts(EnvironmentLookup lookup);

/// Whether the slots of slurm_hosts() are tasks.
bool has_slurm_tasks(EnvironmentLookup lookup);

/// An error if the allocation has its nodes only in het groups, which slurm_hosts() does not read.
Status check_het_groups(EnvironmentLookup lookup);

/// An error if this process is one of several tasks of srun: each would start the whole job.
Status check_slurm_step(EnvironmentLookup lookup);

}  // namespace paceline::launcher
