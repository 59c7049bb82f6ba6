// Looks at the processes of a rank: what they wait for, where Python is, and native stacks.
//
//   process that takes stacks ── a child for each rank ── a child for each process of the rank
//
// Each child has a share of the time and is killed at its end. So the time that a process which
// hangs in the kernel costs is its own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "launcher/channel/messages.pb.h"
#include "launcher/proto/job_v1.pb.h"
#include "launcher/stacks/native_stacks.h"

namespace paceline::launcher {

/// Looks at all ranks at once. The answer comes within request.patience_ns(). `native`: the module,
/// or why there is none. Forks, so the caller has one thread; SIGCHLD is ignored or blocked.
messages::StacksTaken look_at_ranks(const messages::LookAtRanks& request,
                                    const Result<const StacksModule*>& native, const Clock& clock);

/// One process of a rank, that says why there is no more. For the answer to a request.
std::string failed_look(const std::string& why, pid_t pid = 0);

/// The answer to a request that cannot be done.
messages::StacksTaken failed_stacks(const messages::LookAtRanks& request, const std::string& why);

}  // namespace paceline::launcher
