// Keys and configuration of a lab's sshd and of ssh to it: thrown away with the lab.
#pragma once

#include <paceline/status.h>

#include "launcher/tools/lab/lab_folder.h"

namespace paceline::launcher {

/// Writes them into the lab's folder: sshd_config (which hosts see in kLabFolderInHosts),
/// ssh_config for `ssh -F`, known_hosts, and keys made by ssh-keygen.
Status write_ssh_files(const LabFolder& folder, const LabPlan& plan);

}  // namespace paceline::launcher
