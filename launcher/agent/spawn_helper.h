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

/// The max number of descriptors with which a rank begins. They come with one message.
inline constexpr int kMaxRankDescriptors = 8;

/// Body of the process: serves messages::ToHelper until the agent has gone.
void run_spawn_helper(UniqueFd agent);

}  // namespace paceline::launcher
