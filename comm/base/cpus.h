// How many CPUs this process may use: its affinity, not what the machine has.
#pragma once

namespace paceline {

/// At least 1.
int allowed_cpus();

}  // namespace paceline
