// How many CPUs this process may use: its affinity and the quota of its cgroups, not what the
// machine has.
#pragma once

namespace paceline {

/// At least 1. A quota counts as the whole CPUs in it: who shares 1.5 CPUs with others cannot
/// afford to spin on the second.
int allowed_cpus();

}  // namespace paceline
