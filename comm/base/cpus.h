// Which CPUs processes may use: their affinity and the quota of their cgroups, not what the machine
// has.
#pragma once

#include "comm/base/cpu_set.h"
#include "comm/base/environment.h"

namespace paceline {

/// Those of the calling thread; empty where the kernel does not tell.
CpuSet affinity();

/// Those of all ranks on this host: as the launcher says, who may have bound this one to a part of
/// them; else the affinity.
CpuSet host_cpus(const Environment& environment);

/// Of `set`, as far as the quota of this process allows; at least 1. A quota counts as the whole
/// CPUs in it: who shares 1.5 CPUs with others cannot afford to spin on the second.
int allowed_cpus(const CpuSet& set = affinity());

/// Moves the calling thread to another CPU of its affinity, which stays as it is. Does nothing
/// where there is no other.
void leave_cpu();
/// Moves it to the CPU of its affinity whose turn it is, counted from 0 and around.
void go_to_cpu(int turn);

}  // namespace paceline
