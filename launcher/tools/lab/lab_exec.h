// A command inside a host of a lab, as ssh would run one, but at once.
//
//   paceline lab exec          stays outside: passes signals on, and the exit code back
//     guard                    in the host's namespaces: kills what was started when exec goes
//       the command            in the host's control groups, too
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "launcher/tools/lab/lab_record.h"

namespace paceline::launcher {

/// Runs `command` on the host (none: in the switch, with the machine's processes in sight) with
/// this process's standard streams, environment and other inherited descriptors; on a host
/// XDG_RUNTIME_DIR is the host's. Signals that processes send to this one go to the command (those
/// of a terminal reach it by themselves). Returns its exit code, 128 + signal, or 126 and 127 where
/// it cannot be executed or found. When this process is killed, the command and all that it has
/// started are. What the command leaves running when it ends stays, as with ssh.
///
/// This process has one thread, joins the namespaces itself, and has no further use.
Result<int> lab_exec(const LabRecord& record, std::optional<int> host,
                     const std::vector<std::string>& command);

}  // namespace paceline::launcher
