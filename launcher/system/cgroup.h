// A control group for the processes of a job, where this user may make one: of version 2, or else
// of the freezer's hierarchy of version 1. See cgroups(7).
#pragma once

#include <string>

#include <sys/types.h>

#include "comm/base/clock.h"
#include "comm/base/unique_fd.h"

namespace paceline::launcher {

/// The folder of this process's cgroup, in which this user may write; empty if there is none.
std::string own_cgroup_folder();

/// Makes a cgroup in the folder `parent`. Empty where that is not allowed.
std::string make_cgroup(const std::string& parent, const std::string& name);

/// fork(2), with the child in the cgroup from its first instruction. Without one (`cgroup` is
/// closed) a plain fork. In a cgroup of version 1, or where the kernel refuses that (before 5.7, or
/// for want of rights), the child enters it itself, if it may. The caller has one thread.
pid_t fork_into(const UniqueFd& cgroup);

/// Kills every process in it, also those that fork meanwhile. Version 1 and kernels before 5.14
/// freeze it for that.
void kill_cgroup(const std::string& folder);
/// The same for a cgroup that will be used again. Linux 6.18 kills a process that fork_into() puts
/// into a cgroup which was killed by cgroup.kill before, so this one freezes it always.
void empty_cgroup(const std::string& folder);

/// Removes it, once its last process has gone; not where that takes longer than `patience`.
void remove_cgroup(const std::string& folder, const Clock& clock, Duration patience);

}  // namespace paceline::launcher
