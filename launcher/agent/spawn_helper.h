// The spawn helper: the process that forks the ranks.
//
//   head (paceline run)  <- socket ->  agent  <- socket ->  spawn helper  - fork ->  ranks
//
// It is forked before its agent has any thread and never makes one, so forking is safe and cheap.
// When the agent's end of the socket closes, however that came about, it kills every rank and all
// that they have started, and ends; when it is killed itself, the kernel kills the ranks.
#pragma once

#include "comm/base/unique_fd.h"

namespace paceline::launcher {

/// Descriptors of a rank beside standard input, output and error: the order of those that come
/// with messages::Spawn.
inline constexpr int kJobKeyFd = 3;
inline constexpr int kFlightFd = 4;
inline constexpr int kRankDescriptors = 5;

/// Body of the process: serves messages::ToHelper until the agent has gone.
void run_spawn_helper(UniqueFd agent);

}  // namespace paceline::launcher
