// Gives the faults of a script to the agents of their hosts. Pure.
#pragma once

#include <vector>

#include <paceline/status.h>

#include "launcher/head/head.h"
#include "launcher/head/job_inputs.h"
#include "launcher/options/job_spec.h"

namespace paceline::launcher {

/// `agents` have their ranks. An error begins with the file and a line: it names a rank, a host or
/// a restart that the job does not have. In a restart a host may have ranks that is spare at first.
Status give_faults(const JobInputs& inputs, const JobSpec& job, std::vector<HostAgent>& agents);
/// The same for a restart on other hosts. Faults of hosts that have no ranks any more are left out.
void give_faults_again(const JobInputs& inputs, std::vector<HostAgent>& agents);

}  // namespace paceline::launcher
