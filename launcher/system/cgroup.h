// A control group of version 2 for the processes of a job, where this user may make one. See
// cgroups(7).
#pragma once

#include <string>

#include <sys/types.h>

#include "comm/base/clock.h"
#include "comm/base/unique_fd.h"

namespace paceline::launcher {

/// The folder of this process's cgroup of version 2; empty where there is none or it is out of
/// sight.
std::string own_cgroup_folder();

/// Makes a cgroup in the folder `parent`. Empty where that is not allowed.
std::string make_cgroup(const std::string& parent, const std::string& name);

/// fork(2), with the child in the cgroup from its first instruction. Without one (`cgroup` is
/// closed), or where the kernel refuses that (before 5.7, or for want of rights), a plain fork. The
/// caller has one thread.
pid_t fork_into(const UniqueFd& cgroup);

/// Kills every process in it, also those that fork meanwhile (kernels before 5.14 cannot).
void kill_cgroup(const std::string& folder);

/// Removes it, once its last process has gone; not where that takes longer than `patience`.
void remove_cgroup(const std::string& folder, const Clock& clock, Duration patience);

}  // namespace paceline::launcher
