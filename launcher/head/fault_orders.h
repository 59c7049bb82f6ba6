// Gives the faults of a script to the agents of their hosts. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include <paceline/status.h>

#include "launcher/head/head.h"
#include "launcher/options/fault_script.h"
#include "launcher/options/job_spec.h"

namespace paceline::launcher {

/// `agents` have their ranks. Restarts count from `first_epoch`. An error begins with the file and
/// a line: it names a rank, a host or a restart that the job does not have.
Status give_faults(const std::vector<FaultSpec>& faults, const JobSpec& job,
                   std::uint32_t first_epoch, std::vector<HostAgent>& agents);
/// The same for a restart on other hosts. Faults of hosts that have no ranks any more are left out.
void give_faults_again(const std::vector<FaultSpec>& faults, std::uint32_t first_epoch,
                       std::vector<HostAgent>& agents);

}  // namespace paceline::launcher
