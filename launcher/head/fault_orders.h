// Gives the faults of a script to the agents of their hosts. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "launcher/head/head.h"
#include "launcher/head/job_inputs.h"
#include "launcher/options/job_spec.h"

namespace paceline::launcher {

/// `agents` have their ranks. An error begins with the file and a line: it names a rank, a host or
/// a restart that the job does not have. A fault of a restart may need a host that is spare now:
/// then `say` gets a line that the fault waits for it.
Status give_faults(const JobInputs& inputs, const JobSpec& job, std::vector<HostAgent>& agents,
                   const std::function<void(const std::string&)>& say);
/// The same for restart `coming` and later ones, on other hosts. `say` gets a line for each fault
/// of these whose host has no ranks.
void give_faults_again(const JobInputs& inputs, std::uint32_t coming,
                       std::vector<HostAgent>& agents,
                       const std::function<void(const std::string&)>& say);

}  // namespace paceline::launcher
