// Making a lab.
#pragma once

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "launcher/tools/lab/lab_folder.h"
#include "launcher/tools/lab/lab_plan.h"

namespace paceline::launcher {

/// When it returns, the lab outlives this process; when it fails, or this process is killed, there
/// is none (the latter leaves a folder to the next command). This process has one thread.
Result<LabFolders::Found> make_lab(const LabFolders& folders, const LabFolders::Options& where,
                                   const LabPlan& plan);

/// A file name beside the hostfile; for `ssh -F`.
inline constexpr const char* kSshConfig = "ssh_config";

}  // namespace paceline::launcher
