// Gives the faults of a script to the agents of the hosts that they strike. Pure.
#pragma once

#include <string>
#include <vector>

#include <paceline/status.h>

#include "launcher/head/head.h"
#include "launcher/options/fault_script.h"

namespace paceline::launcher {

/// `agents` have their ranks. An error begins with `file` and a line: it names a rank or a host
/// that the job does not have.
Status give_faults(const std::vector<FaultSpec>& faults, const std::string& file,
                   std::vector<HostAgent>& agents);

}  // namespace paceline::launcher
