// Gives the faults of a script to the agents of their hosts. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "launcher/head/head.h"
#include "launcher/head/job_inputs.h"
#include "launcher/options/job_spec.h"

namespace paceline::launcher {

/// `agents` have their ranks. An error begins with the file and a line: it names a rank, a host or
/// a restart that the job does not have. In a restart a host may have ranks that is spare at first.
Status give_faults(const JobInputs& inputs, const JobSpec& job, std::vector<HostAgent>& agents);
/// The same for a restart on other hosts. `say` gets a line for each fault that is left out because
/// its host has no ranks any more.
void give_faults_again(const JobInputs& inputs, std::vector<HostAgent>& agents,
                       const std::function<void(const std::string&)>& say);

}  // namespace paceline::launcher
