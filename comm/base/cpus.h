// Which CPUs this process may use: its affinity and the quota of its cgroups, not what the machine
// has.
#pragma once

namespace paceline {

/// At least 1. A quota counts as the whole CPUs in it: who shares 1.5 CPUs with others cannot
/// afford to spin on the second.
int allowed_cpus();
/// The same without the quota: on so many it may run at the same time while the quota lasts.
int affinity_cpus();

/// Moves the calling thread to another CPU of its affinity, which stays as it is. Does nothing
/// where there is no other.
void leave_cpu();

}  // namespace paceline
