// Stopping all processes of a PID namespace where no control group can freeze them.
#pragma once

#include <paceline/status.h>

#include "launcher/system/process_identity.h"

namespace paceline::launcher {

/// SIGSTOP or SIGCONT to all in the PID namespace of `init`. What stops itself does so for good: a
/// program that waits for its children sees them stopped, which a frozen one does not.
Status stop_namespace(const ProcessIdentity& init);
Status continue_namespace(const ProcessIdentity& init);

}  // namespace paceline::launcher
